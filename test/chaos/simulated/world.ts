import { Random } from '@tiered/core';
import { ManualClock, ticked } from '@tiered/core/testing';
import { countFault, type Figures } from '../figures.js';
import type { Schedule, Start, Step } from '../steps.js';
import { close, place, rescan } from './calls.js';
import { Dataset, KEYS } from './dataset.js';
import { SimulatedDisk } from './disk.js';
import { Finding } from './finding.js';
import { goThrough } from './go-through.js';
import { checkKnown } from './known-names.js';
import { Knowledge } from './knowledge.js';
import { Life } from './life.js';
import { Reading } from './reading.js';
import { UnderWay } from './under-way.js';

/** After so long everybody has looked at what the others did, and has tried again what failed. */
const LOOKED_MS = 6000;
/** More than this is a jump of the clock. */
const LONGEST_WAIT_MS = 1000;

/** The process that starts when all have ended: it meets no faults, and has room for everything. */
const INSPECTOR: Start = {
  do: 'start',
  who: 0,
  ram: 0,
  quota: 1_000_000,
  policy: 'firstFit',
  layout: 'files',
  versions: 'refresh',
  scan: true,
  whenBehind: 'wait',
  faults: { tier: 0, source: 0, index: 0 },
  seed: 1,
};

/**
 * Disks, a source, and processes that come and go: makes the steps of a schedule, and looks after each
 * whether all is as promised.
 */
export class World {
  readonly #clock = new ManualClock(ticked);
  readonly #dataset = new Dataset();
  readonly #disks: readonly SimulatedDisk[];
  readonly #lives: (Life | undefined)[] = [];
  readonly #known = new Map<Life, Knowledge>();
  readonly #underWay = new UnderWay(this.#clock, ({ kind }) => {
    if (kind === 'wrong bytes') this.#figures.wrongBytes += 1;
  });
  readonly #figures: Figures;
  /** Whether there may be more on the disks than quotas allow, until everybody has looked. */
  #isUnsettled = false;

  private constructor({ disks }: Schedule, figures: Figures) {
    this.#figures = figures;
    this.#disks = Array.from({ length: disks }, (_, level) => new SimulatedDisk(`disk ${level}`));
    for (const disk of this.#disks) disk.onGrowth = () => void this.#checkQuota(disk);
  }

  /**
   * Goes through a schedule.
   * @throws Finding for what must not be.
   */
  static async run(schedule: Schedule, figures: Figures): Promise<void> {
    const world = new World(schedule, figures);
    world.#underWay.listen();
    try {
      await world.#dataset.begin(schedule.sizes);
      await goThrough(schedule.steps, {
        clock: world.#clock,
        underWay: world.#underWay,
        figures,
        make: (step) => world.#make(step),
        end: () => world.#end(),
      });
    } finally {
      for (const life of world.#lives) life?.kill(world.#disks);
      await ticked();
      world.#underWay.stopListening();
      for (const disk of world.#disks) disk.dispose();
    }
  }

  async #make(step: Step): Promise<void> {
    switch (step.do) {
      case 'start':
        if (this.#lives[step.who] === undefined) this.#start(step);
        return;
      case 'read':
      case 'place':
      case 'rescan':
      case 'close':
      case 'kill':
      case 'stop':
      case 'resume': {
        const life = this.#lives[step.who];
        if (life !== undefined) this.#makeOf(life, step);
        return;
      }
      case 'wait':
        // As a machine that slept: nobody looks meanwhile.
        if (step.ms > LONGEST_WAIT_MS) this.#clock.pass(step.ms);
        return this.#clock.advance(Math.min(step.ms, LONGEST_WAIT_MS));
      case 'settle':
        return this.#underWay.settle();
      case 'change':
        return this.#dataset.put(step.key, step.size);
      case 'remove':
        return this.#dataset.remove(step.key);
      case 'sync':
      case 'wipe':
      case 'loseIndex':
      case 'cutPower':
      case 'spoil':
        for (const disk of this.#disks) await this.#makeTo(disk, step);
    }
  }

  #makeOf(
    life: Life,
    step: Extract<Step, { do: 'read' | 'place' | 'rescan' | 'close' | 'kill' | 'stop' | 'resume' }>,
  ): void {
    if (step.do === 'kill') this.#kill(life);
    if (step.do === 'stop') life.process.stop();
    if (step.do === 'resume') life.process.resume();
    if (!life.isRunning || life.isClosing || !life.isStarted) return;
    if (step.do === 'close') this.#underWay.begin(life, 'close', this.#close(life));
    if (step.do === 'place')
      this.#underWay.begin(life, 'place', place(life, this.#knowledge(life), step.key));
    if (step.do === 'rescan')
      this.#underWay.begin(life, 'rescan', rescan(life, this.#knowledge(life), this.#dataset));
    if (step.do !== 'read') return;
    this.#figures.reads += step.reads.length;
    const onBytes = (bytes: number) => (this.#figures.bytesChecked += bytes);
    this.#underWay.begin(
      life,
      step.how,
      new Reading(life, this.#knowledge(life), this.#dataset, onBytes).make(step),
    );
  }

  async #makeTo(
    disk: SimulatedDisk,
    step: Extract<Step, { do: 'sync' | 'wipe' | 'loseIndex' | 'cutPower' | 'spoil' }>,
  ): Promise<void> {
    const isUsed = this.#lives.some((life) => life !== undefined);
    if (step.do === 'sync') await disk.sync();
    if (step.do === 'wipe') {
      this.#isUnsettled = true;
      this.#fault('wiped disk');
      await disk.wipe();
    }
    if (step.do === 'loseIndex' && !isUsed) {
      this.#isUnsettled = true;
      this.#fault('lost index');
      disk.removeIndex();
    }
    if (step.do === 'cutPower') {
      for (const life of this.#lives) if (life !== undefined) this.#kill(life);
      this.#isUnsettled = true;
      this.#figures.powerCuts += 1;
      await disk.cutPower(new Random(step.seed));
    }
    // Copies that a process wrote itself it trusts; what is shorter or gone it notices.
    if (
      step.do === 'spoil' &&
      (step.how !== 'flip' || !isUsed) &&
      (await disk.spoil(step.how, new Random(step.seed)))
    )
      this.#fault(`${step.how} copy`);
  }

  #start(options: Start): void {
    const life = new Life(options, {
      clock: this.#clock,
      dataset: this.#dataset,
      disks: this.#disks,
      onFault: (kind) => this.#fault(kind),
    });
    this.#lives[options.who] = life;
    const known = new Knowledge(this.#dataset, options);
    this.#known.set(life, known);
    known.begin(KEYS);
    const starting = life.hierarchy.open().then(
      () => {
        known.listed(KEYS);
        life.isStarted = true;
        // Others make room when they next look, and so does one whose tier does not do what it is told.
        const isAlone = this.#lives.every((other) => other === undefined || other === life);
        if (!isAlone || !life.isSound) this.#isUnsettled = true;
        for (const disk of this.#disks) void this.#checkQuota(disk);
      },
      (error: unknown) => {
        this.#figures.failedStarts += 1;
        throw new Finding('failed start', String(error), error);
      },
    );
    this.#underWay.begin(life, 'start', starting);
  }

  #kill(life: Life): void {
    this.#figures.kills += 1;
    life.kill(this.#disks);
    this.#forget(life);
  }

  #forget(life: Life): void {
    this.#lives[this.#lives.indexOf(life)] = undefined;
    this.#known.delete(life);
    this.#underWay.forget(life);
  }

  async #close(life: Life): Promise<void> {
    await close(life, this.#disks);
    this.#forget(life);
  }

  /** Waits until nothing is placed any more. */
  async #idle(): Promise<void> {
    await this.#underWay.settle();
    for (const life of this.#lives)
      if (life?.isStarted === true && life.isRunning)
        this.#underWay.begin(life, 'idle', life.hierarchy.idle());
    await this.#underWay.settle();
  }

  /** Waits until nothing is placed any more, and everybody has looked at what the others did. */
  async #quiet(): Promise<void> {
    await this.#idle();
    await this.#clock.advance(LOOKED_MS);
    await this.#underWay.settle();
    this.#underWay.throwFinding();
  }

  async #end(): Promise<void> {
    for (const life of this.#lives) life?.process.resume();
    await this.#quiet();
    if (this.#lives.every((life) => life?.isSound !== false)) {
      this.#isUnsettled = false;
      for (const disk of this.#disks) await this.#checkQuota(disk);
    }
    for (const life of this.#lives)
      if (life !== undefined) this.#underWay.begin(life, 'close', this.#close(life));
    await this.#underWay.settle();
    this.#underWay.throwFinding();
    await this.#inspect();
  }

  /** A start that meets no faults finds, and leaves, disks on which everything is known. */
  async #inspect(): Promise<void> {
    this.#isUnsettled = false;
    this.#start(INSPECTOR);
    const [life] = this.#lives;
    if (life === undefined) return;
    await this.#quiet();
    for (const disk of this.#disks) await checkKnown(disk);
    const reads = KEYS.map((key) => ({ key, offset: 0, length: 1000 }));
    for (let epoch = 0; epoch < 2; epoch++) {
      this.#makeOf(life, { do: 'read', who: 0, how: 'read', reads, transfer: false });
      await this.#idle();
    }
    for (const disk of this.#disks) await checkKnown(disk);
    this.#underWay.begin(life, 'close', this.#close(life));
    await this.#underWay.settle();
    this.#underWay.throwFinding();
  }

  async #checkQuota(disk: SimulatedDisk): Promise<void> {
    if (this.#isUnsettled) return;
    const level = this.#disks.indexOf(disk);
    const using = this.#lives.filter(
      (life) => life?.isStarted === true && disk.isRunning(life.members[level]?.at(-1) ?? ''),
    );
    const quota = Math.min(...using.map((life) => life?.options.quota ?? Infinity));
    const occupied = await disk.occupied();
    if (occupied <= quota) return;
    this.#figures.bytesOverQuota += occupied - quota;
    this.#underWay.note(
      new Finding('over quota', `${disk.name} holds ${occupied} bytes, and may hold ${quota}`),
    );
  }

  #knowledge(life: Life): Knowledge {
    const known = this.#known.get(life);
    if (known === undefined) throw new Error('a process without knowledge');
    return known;
  }

  #fault(kind: string): void {
    countFault(this.#figures, kind);
  }
}
