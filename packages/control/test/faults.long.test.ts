import { MemoryRecords, MemoryRegistry, type PutOptions, type RegistryEntry } from '@tiered/cluster/registry';
import { MemoryDriver, TieredError, type Clock, type SleepOptions } from '@tiered/core';
import { ThrottleDriver } from '@tiered/core/decorators';
import type { StorageDriver } from '@tiered/core/driver';
import { ManualClock, ticked } from '@tiered/core/testing';
import fc from 'fast-check';
import { describe, expect, inject, it } from 'vitest';
import { Control, maxMin } from '../src/index.js';

const BUDGET = 100e6;
const OBJECT_BYTES = 100_000;
const TTL_MS = 3000;

/** The clock of a process that may be stopped, and whose clock began at another time than those of others. */
class ProcessClock implements Clock {
  readonly #inner: ManualClock;
  readonly #offsetMs: number;
  #going: Promise<void> = Promise.resolve();
  #go: () => void = () => undefined;
  isStopped = false;

  constructor(inner: ManualClock, offsetMs: number) {
    this.#inner = inner;
    this.#offsetMs = offsetMs;
  }

  now(): number {
    return this.#inner.now() + this.#offsetMs;
  }

  async sleep(ms: number, signal?: AbortSignal, options?: SleepOptions): Promise<void> {
    await this.#inner.sleep(ms, signal, options);
    await this.#going;
  }

  /** Waits while the process is stopped. */
  goesOn(): Promise<void> {
    return this.#going;
  }

  turn(): Promise<void> {
    return this.#inner.turn();
  }

  stop(): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.#going = new Promise((resolve) => (this.#go = resolve));
  }

  goOn(): void {
    this.isStopped = false;
    this.#go();
  }
}

/** A registry that can be lost for all at once. */
class LosableRegistry extends MemoryRegistry {
  readonly #isLost: () => boolean;

  constructor(records: MemoryRecords, isLost: () => boolean) {
    super(records);
    this.#isLost = isLost;
  }

  override put(entry: RegistryEntry, options: PutOptions): Promise<boolean> {
    return this.#isLost() ? Promise.reject(LOST) : super.put(entry, options);
  }

  override all(...args: Parameters<MemoryRegistry['all']>): Promise<readonly RegistryEntry[]> {
    return this.#isLost() ? Promise.reject(LOST) : super.all(...args);
  }
}

const LOST = new TieredError('TIERED_UNAVAILABLE', 'lost', { retryable: true });

/** One process of a job, which reads as fast as it may. */
class Reader {
  readonly job: string;
  readonly weight: number;
  readonly clock: ProcessClock;
  bytes = 0;
  readonly errors: unknown[] = [];
  readonly #control: Control;
  #isEnded = false;
  #reading: Promise<unknown> = Promise.resolve();

  private constructor(job: string, weight: number, clock: ProcessClock, control: Control) {
    this.job = job;
    this.weight = weight;
    this.clock = clock;
    this.#control = control;
  }

  static async start(world: World, { weight, requests, offsetMs }: Coming): Promise<Reader> {
    const clock = new ProcessClock(world.clock, offsetMs);
    const job = `job-${world.count++}`;
    const registry = new LosableRegistry(world.records, () => world.isLost);
    const control = await Control.join({ registry, job, weight, clock, ttlMs: TTL_MS });
    const reader = new Reader(job, weight, clock, control);
    const driver = control.source(world.source, { name: 'nfs', budget: { bytesPerSecond: BUDGET } });
    reader.#reading = Promise.all(Array.from({ length: requests }, () => reader.#read(driver)));
    return reader;
  }

  async #read(driver: StorageDriver): Promise<void> {
    while (!this.#isEnded) {
      try {
        const bytes = await driver.read('object', { offset: 0, length: OBJECT_BYTES });
        this.bytes += bytes.byteLength;
        // What is stopped makes no request.
        await this.clock.goesOn();
      } catch (error) {
        this.errors.push(error);
        return;
      }
    }
  }

  /** Leaves in order. */
  async leave(): Promise<void> {
    this.clock.goOn();
    this.#isEnded = true;
    await this.#control.close();
    await this.#reading;
  }

  /** The process is gone: nothing of it goes on, and nobody is told. */
  kill(): void {
    this.#isEnded = true;
    this.clock.stop();
  }
}

interface Coming {
  readonly weight: number;
  readonly requests: number;
  /** Milliseconds by which its clock differs. */
  readonly offsetMs: number;
}

interface World {
  readonly clock: ManualClock;
  readonly records: MemoryRecords;
  readonly source: StorageDriver;
  isLost: boolean;
  count: number;
}

type Event = { readonly who: number } & (
  | { readonly kind: 'leave' | 'kill' | 'stop' | 'goOn' | 'lose' | 'find' | 'forget' | 'wait' }
  | { readonly kind: 'lie'; readonly bytes: number }
  | ({ readonly kind: 'come' } & Coming)
);

const coming = fc.record({
  weight: fc.constantFrom(1, 2, 4),
  requests: fc.constantFrom(4, 8, 32),
  offsetMs: fc.integer({ min: -600_000, max: 600_000 }),
});
const who = fc.nat(9);
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({
    who,
    kind: fc.constantFrom('leave', 'kill', 'stop', 'goOn', 'lose', 'find', 'forget', 'wait'),
  }),
  fc.tuple(coming, who).map(([one, at]) => ({ ...one, who: at, kind: 'come' as const })),
  fc.record({ who, kind: fc.constant('lie' as const), bytes: fc.double({ min: 0, max: 1e15, noNaN: true }) }),
);

async function makeWorld(): Promise<World> {
  const clock = new ManualClock(ticked);
  const memory = new MemoryDriver();
  await memory.open({});
  await memory.write('object', new Uint8Array(OBJECT_BYTES), { size: OBJECT_BYTES });
  const source = new ThrottleDriver(memory, { clock, bytesPerSecond: BUDGET, latencyMs: 1 });
  await clock.run(source.open({}));
  return { clock, records: new MemoryRecords(clock), source, isLost: false, count: 0 };
}

/** Makes one event happen. Returns the readers that are there then, and have not been killed. */
async function happen(world: World, readers: readonly Reader[], what: Event): Promise<readonly Reader[]> {
  const reader = readers[what.who % Math.max(1, readers.length)];
  const others = readers.filter((one) => one !== reader);
  switch (what.kind) {
    case 'come':
      return readers.length < 6 && !world.isLost
        ? [...readers, await world.clock.run(Reader.start(world, what))]
        : readers;
    case 'leave':
      if (reader !== undefined) await world.clock.run(reader.leave());
      return others;
    case 'kill':
      reader?.kill();
      return others;
    case 'stop':
      reader?.clock.stop();
      return readers;
    case 'goOn':
      reader?.clock.goOn();
      return readers;
    case 'forget':
      for (const { slot, owner } of world.records.all()) world.records.leave(slot, owner);
      return readers;
    case 'lie':
      world.records.put(lieOf(world, what));
      return readers;
    case 'lose':
    case 'find':
      world.isLost = what.kind === 'lose';
      return readers;
    case 'wait':
      return readers;
  }
}

/** The record of a stage that says it wants anything, and is not there. It lives as long as any. */
function lieOf({ clock }: World, { who: at, bytes }: { readonly who: number; readonly bytes: number }) {
  const sources = { nfs: { wanted: { bytes }, used: { bytes, operations: 1 }, waits: 1, measured: bytes } };
  const record = { v: 1, kind: 'stage', job: `liar-${at}`, node: 'n', terms: {}, sources, tiers: {} };
  return { slot: `stage.liar-${at}`, owner: `liar-${at}`, record, until: clock.now() + TTL_MS };
}

/** Waits for the end of the faults, and then for the time in which a new balance is promised. */
async function settle(world: World, readers: readonly Reader[]): Promise<void> {
  world.isLost = false;
  for (const { clock } of readers) clock.goOn();
  await world.clock.advance(TTL_MS + 2_500);
}

/** Bytes a second of each reader, in the next seconds. */
async function ratesIn(world: World, readers: readonly Reader[], seconds: number): Promise<number[]> {
  const before = readers.map(({ bytes }) => bytes);
  await world.clock.advance(seconds * 1000);
  return readers.map(({ bytes }, at) => (bytes - (before[at] ?? 0)) / seconds);
}

describe('jobs under faults', () => {
  it('[U4] [U5] fail no read, and come back to their shares once the faults have ended', async () => {
    const script = fc.array(fc.tuple(fc.integer({ min: 0, max: 2_000 }), event), {
      minLength: 4,
      maxLength: 16,
    });
    const starts = fc.array(coming, { minLength: 2, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(starts, script, async (comings, events) => {
        const world = await makeWorld();
        let readers: readonly Reader[] = [];
        const all: Reader[] = [];
        const take = (now: readonly Reader[]) => {
          readers = now;
          for (const reader of now) if (!all.includes(reader)) all.push(reader);
        };
        for (const one of comings) take(await happen(world, readers, { ...one, who: 0, kind: 'come' }));
        for (const [ms, what] of events) {
          await world.clock.advance(ms);
          take(await happen(world, readers, what));
        }
        await settle(world, readers);
        const rates = await ratesIn(world, readers, 4);
        const claims = readers.map(({ weight }) => ({
          weight,
          wanted: Infinity,
          atLeast: 0,
          atMost: Infinity,
          priority: 0,
        }));
        const shares = maxMin(BUDGET, claims);
        for (const { errors } of all) expect(errors).toEqual([]);
        for (const [at, rate] of rates.entries()) {
          // Four requests at a time hardly bring four fifths of the source, so not within a twentieth.
          expect(rate / (shares[at] ?? 0)).toBeGreaterThan(0.9);
          expect(rate / (shares[at] ?? 0)).toBeLessThan(1.1);
        }
        for (const reader of readers) await world.clock.run(reader.leave());
        await world.source.close();
      }),
      { numRuns: inject('nightly') ? 400 : 25 },
    );
  }, 300_000);
});
