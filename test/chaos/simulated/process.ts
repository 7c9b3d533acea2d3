import type { Clock, Random, SleepOptions, StorageDriver } from '@tiered/core';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';

/** Nothing that follows ever happens. */
const NEVER = new Promise<never>(() => undefined);
/** Most calls of drivers take less than this, in simulated milliseconds. */
const USUAL_MS = 4;
/** Of so many calls one is slow, by so much. */
const SLOW_ONE_IN = 50;
const SLOW_MS = 400;

/**
 * A process, simulated in this one: everything by which its code reaches the world (time, storage, the index)
 * passes through `gate`. While it is stopped nothing passes, and once it is killed nothing ever does: its
 * code stands where it was.
 */
export class SimulatedProcess {
  /** Its own clock: stands as it does. */
  readonly clock: Clock;
  /** What it waits for at this moment: calls of drivers, and sleeps. */
  readonly underWay = new Set<string>();
  #state: 'running' | 'stopped' | 'killed' = 'running';
  #wake: (() => void)[] = [];
  #calls = 0;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #onKill: (() => void)[] = [];

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
    this.clock = {
      now: () => clock.now(),
      sleep: (ms, signal, options) => this.#sleep(ms, signal, options),
      turn: () => clock.turn().then(() => this.gate()),
    };
  }

  get state(): 'running' | 'stopped' | 'killed' {
    return this.#state;
  }

  /** Resolves while the process runs; later, or never, if it does not. */
  async gate(): Promise<void> {
    while (this.#state === 'stopped') await new Promise<void>((resolve) => this.#wake.push(resolve));
    if (this.#state === 'killed') await NEVER;
  }

  /** Makes a call of a driver, which is under way until it has ended. */
  async call<T>(what: string, make: () => Promise<T>): Promise<T> {
    return this.#during(what, () => this.slowly(make));
  }

  /** Makes a call that takes some time before and after the instant in which it happens. */
  async slowly<T>(make: () => Promise<T>): Promise<T> {
    try {
      await this.#delay();
      const result = await make();
      await this.#delay();
      return result;
    } finally {
      await this.gate();
    }
  }

  stop(): void {
    if (this.#state === 'running') this.#state = 'stopped';
  }

  resume(): void {
    if (this.#state === 'stopped') this.#state = 'running';
    for (const wake of this.#wake.splice(0)) wake();
  }

  kill(): void {
    this.#state = 'killed';
    for (const end of this.#onKill.splice(0)) end();
    for (const wake of this.#wake.splice(0)) wake();
  }

  /** What the kernel does when the process is killed. */
  onKill(end: () => void): void {
    this.#onKill.push(end);
  }

  async #delay(): Promise<void> {
    const drawn = this.#random.below(SLOW_ONE_IN);
    const ms = drawn === 0 ? this.#random.below(SLOW_MS) : drawn % USUAL_MS;
    if (ms > 0) await this.#clock.sleep(ms);
    await this.gate();
  }

  async #sleep(ms: number, signal?: AbortSignal, options?: SleepOptions): Promise<void> {
    await this.#during(`sleep of ${ms} ms`, async () => {
      try {
        await this.#clock.sleep(ms, signal, options);
      } finally {
        await this.gate();
      }
    });
  }

  async #during<T>(what: string, work: () => Promise<T>): Promise<T> {
    this.#calls += 1;
    const name = `${what} (${this.#calls})`;
    this.underWay.add(name);
    try {
      return await work();
    } finally {
      this.underWay.delete(name);
    }
  }
}

/** A driver as a process has it. */
export class ProcessDriver extends InterceptingDriver {
  readonly #process: SimulatedProcess;

  constructor(inner: StorageDriver, process: SimulatedProcess) {
    super(inner);
    this.#process = process;
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return this.#process.call(`${call.operation} ${call.key}`, () => call.proceed());
  }
}
