import { Control, decide, type PolicyRecord } from '@tiered/control';
import { Hierarchy, isTieredError, type StorageDriver } from '@tiered/core';
import { own } from '@tiered/core/internal';
import { Prefetcher, StagingBuffer } from '@tiered/prefetch';
import { isDeepStrictEqual } from 'node:util';
import { Finding } from '../simulated/finding.js';
import { assertFair } from './fair.js';
import { assertNoNonsense } from './nonsense.js';
import { ShareMeter } from './share-meter.js';
import { BUDGET, keyOf, OBJECT_BYTES } from './source.js';
import { KEEP_MS, SOURCE, Stage } from './stage.js';

/** Milliseconds between two looks at a registry that is lost: those of a call, and those of a pause. */
const LOOK_MS = 4000;
/** Objects that a training reads ahead. */
const AHEAD = 16;

/** When the registry was lost, and what the stage had then. */
interface Loss {
  readonly at: number;
  readonly share: number;
  readonly stops: number;
}

/** A stage that reads: as fast as it may, or as fast as it computes. */
export class Job extends Stage {
  /** That it has read. */
  bytes = 0;
  #control: Control | undefined;
  #reading: Promise<unknown> = Promise.resolve();
  #closeReading: () => Promise<void> = () => Promise.resolve();
  #loss: Loss | undefined;
  #revision = 0;

  override get id(): string | undefined {
    return this.#control?.shares().id;
  }

  /** What it could use in a second. */
  get wanted(): number {
    return this.options.kind === 'greedy' ? Infinity : (1000 * OBJECT_BYTES) / this.options.computeMs;
  }

  /** What operators have set, as it knows. */
  get policy(): PolicyRecord | undefined {
    return this.#control?.view().seen.policy;
  }

  /** The stages that it knows. */
  get known(): readonly string[] {
    return this.#control?.view().seen.stages.map(({ id }) => id) ?? [];
  }

  override async start(): Promise<boolean> {
    const { registry, source, clock, terms, onFinding } = this.around;
    const { process, job } = this;
    const began = { state: registry.state, losses: registry.losses };
    try {
      this.#control = await Control.join({
        ...{ registry: registry.wayOf(process), job, ...terms, keepMs: KEEP_MS, clock: process.clock },
      });
    } catch (error) {
      const wasLost = began.state !== 'there' || registry.losses > began.losses || this.stops > 0;
      if (isTieredError(error, 'TIERED_UNAVAILABLE') && wasLost) return false;
      throw new Finding('failed start', String(error), error);
    }
    const control = this.#control;
    const name = `stage ${this.options.who}`;
    const meter = new ShareMeter(source, { name, clock, process, share: () => this.#share, onFinding });
    this.#listen(control, meter);
    const driver = control.source(meter, { name: SOURCE, budget: { bytesPerSecond: BUDGET } });
    if (this.options.kind === 'trains') await this.#train(control, driver);
    else this.#readGreedily(driver);
    this.#reading.catch((error: unknown) => {
      // Of one that was killed nobody hears.
      if (this.isRunning) onFinding(new Finding('failed read', String(error), error));
    });
    return true;
  }

  override async close(): Promise<void> {
    const control = this.#control;
    if (control === undefined) return;
    const closing = control.close();
    const bounds = Object.values(control.shares().sources).filter(({ bytes }) => bytes < Infinity);
    if (bounds.length > 0) throw new Finding('bound after close', JSON.stringify(bounds));
    await this.#closeReading();
    await this.#reading;
    await closing;
  }

  /** Without a registry, it has its last share for a while, and what it can count on at least [U5]. */
  assertKeeps(): void {
    if (this.#loss === undefined || !this.isThere) return;
    const { at, share, stops } = this.#loss;
    const now = this.around.clock.now();
    const [has, sure] = [this.#share, this.#sure];
    const least = now - at < KEEP_MS ? Math.max(share, sure) : sure;
    const isLong = now - at > KEEP_MS + LOOK_MS && stops === this.stops;
    if (has < least - 1 || (isLong && has > sure + 1))
      throw new Finding(
        'share without a registry',
        `stage ${this.options.who} has ${has} after ${now - at} ms, had ${share}, and can count on ${sure}`,
      );
  }

  get #share(): number {
    return this.#control?.shares().sources[SOURCE]?.bytes ?? Infinity;
  }

  /** What it would have if all that it knows wanted everything. */
  get #sure(): number {
    const { stages, policy } = this.#control?.view().seen ?? { stages: [], policy: undefined };
    const budget = { bytes: BUDGET };
    const unknown = { used: { bytes: 0, operations: 0 }, waits: 0, budget };
    const greedy = stages.flatMap((stage) => {
      const report = own(stage.sources, SOURCE) ?? (stage.id === this.id ? unknown : undefined);
      return report === undefined ? [] : [{ ...stage, sources: { [SOURCE]: { ...report, wanted: {} } } }];
    });
    const jobs = decide(greedy, policy).sources.get(SOURCE)?.jobs ?? [];
    return (
      jobs.map(({ stages: of }) => of.get(this.id ?? '')?.bytes).find((bytes) => bytes !== undefined) ?? 0
    );
  }

  #listen(control: Control, meter: ShareMeter): void {
    const { clock, onFinding } = this.around;
    control.on('registryLost', () => {
      this.#loss = { at: clock.now(), share: this.#share, stops: this.stops };
    });
    control.on('registryFound', () => (this.#loss = undefined));
    control.on('decided', ({ seen, decision }) => {
      const { stages, policy } = seen;
      meter.look();
      try {
        if (!isDeepStrictEqual(decide(stages.toReversed(), policy), decision))
          throw new Finding('another share', 'the order of the records matters');
        assertFair(decision);
        assertNoNonsense(seen);
        const revision = policy?.revision ?? 0;
        if (revision < this.#revision)
          throw new Finding('policy', `revision ${revision} came after ${this.#revision}`);
        this.#revision = revision;
      } catch (error) {
        onFinding(error instanceof Finding ? error : new Finding('error', String(error), error));
      }
    });
  }

  #readGreedily(driver: StorageDriver): void {
    const read = async () => {
      for (let i = 0; !this.isClosing; i++) {
        const bytes = await driver.read(keyOf(i), { offset: 0, length: OBJECT_BYTES });
        this.#count(bytes.byteLength);
      }
    };
    this.#reading = Promise.all(Array.from({ length: this.options.requests }, read));
  }

  async #train(control: Control, driver: StorageDriver): Promise<void> {
    const { clock } = this.process;
    const { requests: producers, computeMs } = this.options;
    const hierarchy = new Hierarchy({ source: driver, clock, scan: true });
    await hierarchy.open();
    const staging = new StagingBuffer({ memory: AHEAD * OBJECT_BYTES, producers, clock });
    control.followBuffer(staging);
    const keys = function* () {
      for (let i = 0; ; i++) yield keyOf(i);
    };
    const prefetcher = new Prefetcher(hierarchy, keys(), { staging, clock });
    const ended = new AbortController();
    const train = async () => {
      for await (const sample of prefetcher) {
        this.#count(sample.data.byteLength);
        sample.release();
        await clock.sleep(computeMs, ended.signal).catch(() => undefined);
        if (ended.signal.aborted) return;
      }
    };
    this.#reading = train();
    this.#closeReading = async () => {
      ended.abort(new Error('The training has ended.'));
      await this.#reading;
      await prefetcher.close();
      await hierarchy.close();
    };
  }

  #count(bytes: number): void {
    if (bytes !== OBJECT_BYTES) throw new Finding('wrong bytes', `${bytes} of an object`);
    this.bytes += bytes;
    this.around.onRead();
  }
}
