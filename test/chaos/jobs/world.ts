import type { PolicyRecord } from '@tiered/control';
import { ManualClock, ticked } from '@tiered/core/testing';
import { countFault, type Figures } from '../figures.js';
import { Finding } from '../simulated/finding.js';
import { goThrough } from '../simulated/go-through.js';
import { SimulatedRegistry } from '../simulated/registry.js';
import { UnderWay } from '../simulated/under-way.js';
import { assertAgree, assertShares } from './end.js';
import { Job } from './job.js';
import { Liar } from './liar.js';
import { nonsense } from './nonsense.js';
import { Operator, Settings } from './operator.js';
import { SimulatedSource } from './source.js';
import { TTL_MS, type Stage } from './stage.js';
import { OPERATORS, type JobSchedule, type JobStep, type StageStart } from './steps.js';

/** After faults have ended, jobs have their shares in so long, in milliseconds [U4]. */
const BALANCE_MS = TTL_MS + 2500;
/** Requests that wait in a source without a queue, and seconds after which it has none in any case. */
const FEW = 4;
const MOST_SECONDS = 60;
/** Milliseconds between two looks at shares. */
const LOOK_MS = 500;
/** Milliseconds in which it is looked what they read. */
const WATCH_MS = 4000;

/**
 * Stages of jobs, a registry, operators and a source: makes the steps of a schedule, and looks after each
 * whether all is as promised.
 */
export class JobsWorld {
  readonly #clock: ManualClock;
  readonly #source: SimulatedSource;
  readonly #registry: SimulatedRegistry;
  readonly #schedule: JobSchedule;
  readonly #figures: Figures;
  readonly #underWay: UnderWay;
  readonly #settings = new Settings();
  readonly #operators: readonly Operator[];
  readonly #stages: (Stage | undefined)[] = [];
  #hasKilled = false;
  #hasForgotten = false;
  #wasSlow = false;

  private constructor(schedule: JobSchedule, figures: Figures, clock: ManualClock, source: SimulatedSource) {
    this.#schedule = schedule;
    this.#figures = figures;
    this.#clock = clock;
    this.#source = source;
    this.#registry = new SimulatedRegistry(clock);
    this.#underWay = new UnderWay(clock, ({ kind }) => {
      if (kind === 'wrong bytes') figures.wrongBytes += 1;
    });
    this.#operators = Array.from(
      { length: OPERATORS },
      (_, who) => new Operator(who, clock, this.#registry, this.#settings),
    );
  }

  /**
   * Goes through a schedule.
   * @throws Finding for what must not be.
   */
  static async run(schedule: JobSchedule, figures: Figures): Promise<void> {
    const clock = new ManualClock(ticked);
    const world = new JobsWorld(schedule, figures, clock, await SimulatedSource.begin(clock));
    world.#underWay.listen();
    try {
      await goThrough(schedule.steps, {
        clock,
        underWay: world.#underWay,
        figures,
        make: (step) => world.#make(step),
        end: () => world.#end(),
      });
    } finally {
      for (const stage of world.#stages) stage?.process.kill();
      await ticked();
      world.#underWay.stopListening();
    }
  }

  async #make(step: JobStep): Promise<void> {
    await this.#happen(step);
    this.#assertKeep();
  }

  #assertKeep(): void {
    for (const job of this.#jobs) job.assertKeeps();
  }

  async #wait(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= LOOK_MS) {
      await this.#clock.advance(Math.min(left, LOOK_MS));
      this.#assertKeep();
    }
  }

  async #happen(step: JobStep): Promise<void> {
    switch (step.do) {
      case 'start':
        if (this.#stages[step.who] === undefined) this.#start(step);
        return;
      case 'wait':
        return this.#wait(step.ms);
      case 'settle':
        return this.#settle();
      case 'registry':
        this.#fault(`registry ${step.state}`);
        if (step.state !== 'forget') this.#registry.state = step.state;
        else {
          this.#hasForgotten = true;
          this.#registry.forget();
        }
        return;
      case 'set': {
        const operator = this.#operators[step.operator];
        if (operator !== undefined) this.#underWay.begin(operator, 'setting', operator.set(step.setting));
        return;
      }
      case 'source':
        this.#fault('slow source');
        this.#source.speed = step.speed;
        this.#wasSlow = true;
        return;
      case 'nonsense':
        this.#fault('nonsense');
        for (const record of nonsense(this.#clock.now() + TTL_MS)) this.#registry.records.put(record);
        return;
      case 'kill':
      case 'stop':
      case 'resume':
      case 'close': {
        const stage = this.#stages[step.who];
        if (stage !== undefined) this.#makeOf(stage, step.do);
      }
    }
  }

  #makeOf(stage: Stage, what: 'kill' | 'stop' | 'resume' | 'close'): void {
    if (what === 'kill') this.#kill(stage);
    if (what === 'stop' && stage.isRunning) {
      this.#fault('stopped stage');
      stage.stop();
    }
    if (what === 'resume') stage.process.resume();
    if (what === 'close' && stage.isThere) this.#close(stage);
  }

  #start(options: StageStart): void {
    const terms = this.#schedule.jobs[options.job];
    if (terms === undefined) return;
    const around = {
      ...{ clock: this.#clock, registry: this.#registry, source: this.#source, terms },
      onFinding: (finding: Finding) => this.#underWay.note(finding),
      onRead: () => (this.#figures.reads += 1),
    };
    if (options.kind === 'lies') this.#fault('liar');
    const stage = options.kind === 'lies' ? new Liar(options, around) : new Job(options, around);
    this.#stages[options.who] = stage;
    const starting = stage.start().then((hasStarted) => {
      stage.isStarted = hasStarted;
      if (hasStarted) return;
      this.#figures.failedStarts += 1;
      this.#kill(stage);
    });
    this.#underWay.begin(stage, 'start', starting);
  }

  #close(stage: Stage): void {
    stage.isClosing = true;
    this.#underWay.begin(
      stage,
      'close',
      stage.close().then(() => this.#forget(stage)),
    );
  }

  #kill(stage: Stage): void {
    this.#figures.kills += 1;
    this.#hasKilled = true;
    stage.process.kill();
    this.#forget(stage);
  }

  #forget(stage: Stage): void {
    this.#stages[this.#stages.indexOf(stage)] = undefined;
    this.#underWay.forget(stage);
  }

  get #there(): readonly Stage[] {
    return this.#stages.filter((stage) => stage?.isThere === true) as Stage[];
  }

  get #jobs(): readonly Job[] {
    return this.#there.filter((stage) => stage instanceof Job);
  }

  /** Faults are over. */
  async #settle(): Promise<void> {
    this.#registry.state = 'there';
    this.#source.speed = 1;
    for (const stage of this.#stages) stage?.process.resume();
    await this.#underWay.settle();
    if (this.#wasSlow) await this.#drain();
    this.#wasSlow = false;
    await this.#clock.advance(BALANCE_MS);
    const jobs = this.#jobs;
    const before = jobs.map(({ bytes }) => bytes);
    await this.#clock.advance(WATCH_MS);
    this.#underWay.throwFinding();
    assertAgree(jobs, this.#there);
    const [first] = jobs;
    if (first === undefined) return;
    const rates = jobs.map(({ bytes }, at) => ((bytes - (before[at] ?? 0)) * 1000) / WATCH_MS);
    assertShares(jobs, rates, { stages: this.#there, terms: this.#schedule.jobs, policy: first.policy });
    this.#assertSet(first.policy);
  }

  /** What operators have set holds, and is in the registry for those that come [U6]. */
  #assertSet(policy: PolicyRecord | undefined): void {
    const slot = `policy.${policy?.revision}`;
    if (policy !== undefined && !this.#registry.records.all().some((record) => record.slot === slot))
      throw new Finding('policy', `${slot} is not in the registry any more`);
    // What nobody knew when it was forgotten is lost.
    const lost = this.#hasForgotten ? undefined : this.#settings.lostFrom(policy);
    if (lost !== undefined) throw new Finding('policy', `lost ${lost}`);
  }

  /** What waits in a source that was slow only goes away by the part of it that is not shared out. */
  async #drain(): Promise<void> {
    for (let second = 0; second < MOST_SECONDS && this.#source.waiting > FEW; second++)
      await this.#clock.advance(1000);
  }

  async #end(): Promise<void> {
    await this.#settle();
    for (const stage of this.#there) this.#close(stage);
    await this.#underWay.settle();
    for (const operator of this.#operators) await operator.close();
    const left = this.#registry.records.all().filter(({ slot }) => slot.startsWith('stage.'));
    if (left.length > 0) throw new Finding('held after close', left.map(({ slot }) => slot).join(', '));
    // A call that nobody waits for any more is under way for a while.
    await this.#clock.advance(BALANCE_MS);
    const { sleeping, sleepingInBackground } = this.#clock;
    // Those of a process that was killed wake up in their time.
    if (!this.#hasKilled && sleeping + sleepingInBackground > 0)
      throw new Finding('held after close', `${sleeping} and ${sleepingInBackground} timers`);
  }

  #fault(kind: string): void {
    countFault(this.#figures, kind);
  }
}
