import { ThrottleDriver } from '@tiered/core/decorators';
import { ManualClock } from '@tiered/core/testing';
import { listSequence, Prefetcher, StagingBuffer } from '@tiered/prefetch';
import type { Autotuner, Tuning, TuningEvent, TuningObservation } from '@tiered/prefetch/autotuner';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  charge,
  collect,
  expectIdle,
  HoldingDriver,
  keys,
  next,
  objects,
  outcomeOf,
  over,
  samplesOf,
  settled,
  started,
  WatchedDriver,
  withCode,
} from '../helpers.js';

const SIZES = Array.from({ length: 40 }, () => 1000);
const sequence = listSequence(keys(40));
const UNIT = charge(1000);

/** A stream that tells these at some time, and ends at another. */
async function* later(begin: Promise<void>, told: readonly string[], end?: Promise<void>) {
  await begin;
  yield* told;
  await end;
}

describe('prefetchers that share a staging buffer', () => {
  it('[P8] hold no more than their share each, by priority, and get the share of one that has ended', async () => {
    const hierarchy = await over(await objects(SIZES));
    const staging = new StagingBuffer({ memory: 16 * UNIT, producers: 4, autotuner: false });
    const train = new Prefetcher(hierarchy, sequence, { staging, priority: 3 });
    const validation = new Prefetcher(hierarchy, sequence, { staging });
    await settled();
    expect(train.stats().heldBytes).toBe(12 * UNIT);
    expect(validation.stats().heldBytes).toBe(4 * UNIT);
    await validation.close();
    await settled();
    expect(train.stats().heldBytes).toBe(16 * UNIT);
    expect(await collect(train)).toHaveLength(40);
    await train.close();
  });

  it('[P8] leave their share to the others when their samples are taken, closed or not', async () => {
    const hierarchy = await over(await objects(SIZES));
    const staging = new StagingBuffer({ memory: 16 * UNIT, producers: 4, autotuner: false });
    const train = new Prefetcher(hierarchy, sequence, { staging });
    const validation = new Prefetcher(hierarchy, listSequence(keys(3)), { staging });
    expect(await collect(validation)).toHaveLength(3);
    await settled();
    expect(train.stats().heldBytes).toBe(16 * UNIT);
    await train.close();
  });

  it('tell when the last one has ended, closed or not', async () => {
    const hierarchy = await over(await objects(SIZES));
    const staging = new StagingBuffer({ memory: 16 * UNIT, producers: 4, autotuner: false });
    let rested = 0;
    staging.on('rested', () => (rested += 1));
    const train = new Prefetcher(hierarchy, sequence, { staging });
    const validation = new Prefetcher(hierarchy, listSequence(keys(3)), { staging });
    expect(await collect(validation)).toHaveLength(3);
    await settled();
    expect(rested).toBe(0);
    await train.close();
    expect(rested).toBe(1);
    const next = new Prefetcher(hierarchy, listSequence(keys(3)), { staging });
    expect(await collect(next)).toHaveLength(3);
    await settled();
    expect(rested).toBe(2);
  });

  it('[P2] [P8] hold the budget together, also if they were made one after the other', async () => {
    const hierarchy = await over(await objects(SIZES));
    const staging = new StagingBuffer({ memory: 16 * UNIT, producers: 4, autotuner: false });
    const readers: Prefetcher[] = [];
    const held = () => readers.reduce((sum, reader) => sum + reader.stats().heldBytes, 0);
    for (let i = 0; i < 3; i++) {
      readers.push(new Prefetcher(hierarchy, sequence, { staging }));
      await settled();
      expect(held()).toBe(16 * UNIT);
    }
    // The last one, that has no room, gets what it asks for, and the others give it room as they are
    // consumed.
    expect((await next(readers[2] as Prefetcher))?.key).toBe('0');
    for (let i = 0; i < 12; i++) await next(readers[0] as Prefetcher);
    await settled();
    expect(held()).toBeLessThanOrEqual(16 * UNIT);
    expect(readers[2]?.stats().ready).toBeGreaterThanOrEqual(4);
    expect(await Promise.all(readers.map(async (reader) => (await collect(reader)).length))).toEqual([
      28, 40, 39,
    ]);
  });

  it('[P2] [P8] hold the budget together with what consumers have of one that is at its end', async () => {
    const hierarchy = await over(await objects(SIZES));
    const staging = new StagingBuffer({ memory: 16 * UNIT, producers: 4, autotuner: false });
    const short = new Prefetcher(hierarchy, listSequence(keys(6)), { staging });
    const train = new Prefetcher(hierarchy, sequence, { staging });
    await settled();
    const samples = await short.take(6);
    expect(await short.take(1)).toEqual([]);
    await settled();
    expect(short.stats().heldBytes).toBe(6 * UNIT);
    expect(train.stats().heldBytes).toBe(10 * UNIT);
    for (const sample of samples) sample.release();
    await settled();
    expect(train.stats().heldBytes).toBe(16 * UNIT);
    await train.close();
  });

  it('[P8] leave their share when they are aborted while they read, closed or not', async () => {
    const driver = new HoldingDriver(await objects(SIZES));
    const hierarchy = await over(driver);
    const files = await over(await objects(SIZES));
    const staging = new StagingBuffer({ memory: 16 * UNIT, producers: 4, autotuner: false });
    const controller = new AbortController();
    const aborted = new Prefetcher(hierarchy, sequence, { staging, signal: controller.signal });
    await settled();
    const train = new Prefetcher(files, sequence, { staging });
    controller.abort(new Error('no longer wanted'));
    while (driver.held.length > 0) await driver.release();
    expect(aborted.stats()).toMatchObject({ reading: 0, heldBytes: 0 });
    expect(train.stats().heldBytes).toBe(16 * UNIT);
    await Promise.all([aborted.close(), train.close()]);
  });

  it('[P8] serve the one first whose consumer waits', async () => {
    const driver = new HoldingDriver(await objects(SIZES));
    const hierarchy = await over(driver);
    const staging = new StagingBuffer({ memory: 16 * UNIT, producers: 1, autotuner: false });
    const train = new Prefetcher(hierarchy, sequence, { staging });
    await settled();
    const validation = new Prefetcher(hierarchy, listSequence(['39', '38']), { staging });
    const wanted = outcomeOf(next(validation));
    await settled();
    expect(driver.held).toEqual(['0']);
    await driver.release();
    expect(driver.held).toEqual(['39']);
    await driver.release();
    expect(wanted).toMatchObject({ value: { key: '39' } });
    await driver.releaseAll(Promise.all([train.close(), validation.close()]));
  });

  it.each([
    { why: 'has read all', accesses: () => keys(16) },
    { why: 'has no room', accesses: () => keys(40) },
    { why: 'waits for a stream', accesses: () => later(Promise.resolve(), keys(16), new Promise(() => {})) },
  ])('[P8] keep their producers where another one would try a batch, and $why', async ({ accesses }) => {
    const clock = new ManualClock();
    const files = await over(await objects(SIZES), { clock });
    const driver = new HoldingDriver(await objects(SIZES));
    const slow = await over(driver);
    const staging = new StagingBuffer({ memory: 32 * UNIT, producers: 4, autotuner: false, clock });
    const validation = new Prefetcher(files, accesses(), { staging });
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const train = new Prefetcher(slow, later(begun, keys(40)), { staging });
    await settled();
    expect(validation.stats(), 'enough for a try').toMatchObject({ ready: 16, reading: 0 });
    begin();
    await settled();
    expect(driver.held).toHaveLength(4);
    await driver.releaseAll(Promise.all([train.close(), validation.close()]));
  });

  it('[P1] tell a consumer that waits of an end that a call of somebody else has found', async () => {
    const driver = new HoldingDriver(await objects(SIZES));
    const hierarchy = await over(driver);
    const staging = new StagingBuffer({ memory: 16 * UNIT, producers: 1, autotuner: false });
    const train = new Prefetcher(hierarchy, sequence, { staging });
    await settled();
    const empty = new Prefetcher(hierarchy, listSequence([]), { staging });
    const end = outcomeOf(empty.take(1));
    await settled();
    expect(empty.state().position).toBe(0);
    await driver.release();
    expect(end).toEqual({ value: [] });
    await driver.releaseAll(Promise.all([train.close(), empty.close()]));
  });

  it('[P1] [P8] never wait for each other, in whatever order they are consumed', async () => {
    const setup = fc.record({
      sizes: fc.array(fc.nat(2000), { minLength: 1, maxLength: 12 }),
      memory: fc.constantFrom(0, 64, 1000, 5000, 1e6),
      producers: fc.integer({ min: 1, max: 4 }),
      priorities: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), setup, async (scheduler, { sizes, memory, producers, priorities }) => {
        const driver = new WatchedDriver(await objects(sizes));
        driver.during = ({ operation, key }) => scheduler.schedule(Promise.resolve(), `${operation} ${key}`);
        const hierarchy = await started(driver);
        const staging = new StagingBuffer({ memory, producers, autotuner: false });
        const accesses = listSequence(keys(sizes.length));
        const readers = priorities.map(
          (priority) => new Prefetcher(hierarchy, accesses, { staging, priority }),
        );
        // One after the other: all but the first fill their share, and are not consumed meanwhile.
        const consume = async () => {
          for (const reader of readers) expect(await collect(reader)).toEqual(samplesOf(accesses, sizes));
        };
        await scheduler.waitFor(consume());
        expect(driver.mostReading).toBeLessThanOrEqual(producers);
        for (const reader of readers) expectIdle(reader);
        await scheduler.waitFor(Promise.all(readers.map((reader) => reader.close())));
        await scheduler.waitFor(hierarchy.close());
      }),
      { numRuns: 80 },
    );
  });
});

/** An autotuner that does what it was given to do, and remembers what it was shown. */
class Scripted implements Autotuner {
  readonly name = 'scripted';
  readonly seen: TuningObservation[] = [];
  readonly #tunings: Tuning[];

  constructor(...tunings: Tuning[]) {
    this.#tunings = tunings;
  }

  begin() {
    return this.#decision();
  }

  decide(observation: TuningObservation) {
    this.seen.push(observation);
    return this.#decision();
  }

  #decision() {
    const [tuning = { producers: 1, memoryBytes: 0, samples: 1 }] = this.#tunings;
    if (this.#tunings.length > 1) this.#tunings.shift();
    return { tuning, reason: 'as written', nextInMs: 100 };
  }
}

describe('tuning', () => {
  const tuning = { producers: 1, memoryBytes: 10 * UNIT, samples: Infinity };

  it('[P9] shows what happened since the last decision: reads, consumers that waited, producers that had no room', async () => {
    const clock = new ManualClock();
    const source = new ThrottleDriver(await objects(SIZES), { latencyMs: 50, clock });
    const hierarchy = await clock.run(started(source, { scan: true, clock }));
    const autotuner = new Scripted(tuning);
    const staging = new StagingBuffer({ memory: 10 * UNIT, autotuner, clock });
    const events: TuningEvent[] = [];
    staging.on('tuned', (event) => events.push(event));
    const prefetcher = new Prefetcher(hierarchy, sequence, { staging, clock });
    const first = outcomeOf(next(prefetcher));
    await clock.advance(100);
    expect(first.value).toMatchObject({ key: '0' });
    expect(autotuner.seen).toHaveLength(1);
    expect(autotuner.seen[0]).toMatchObject({
      elapsedMs: 100,
      tuning,
      read: { samples: 2, bytes: 2000, ms: 100 },
      taken: { samples: 1, bytes: 1000 },
      starvedMs: 50,
      fullMs: 0,
      busyProducers: 1,
    });
    // Ten fit: the tenth is there at 550 ms, and then the producer stands still until somebody comes.
    await clock.advance(900);
    await next(prefetcher);
    const last = autotuner.seen.at(-1);
    expect(last).toMatchObject({ taken: { samples: 1 }, starvedMs: 0 });
    const full = autotuner.seen.reduce((sum, { fullMs }) => sum + fullMs, 0);
    expect(full).toBe(1000 - 550);
    expect(events).toHaveLength(autotuner.seen.length + 1);
    expect(events[0]).toMatchObject({ atMs: 0, autotuner: 'scripted', observation: undefined });
    expect(prefetcher.profile().decisions).toEqual(events);
    await clock.run(Promise.all([prefetcher.close(), hierarchy.close()]));
    expect(clock.sleeping).toBe(0);
  });

  it('[P9] is followed at once, within the limits', async () => {
    const clock = new ManualClock();
    const source = new ThrottleDriver(await objects(SIZES), { latencyMs: 100, clock });
    const hierarchy = await clock.run(started(source, { scan: true, clock }));
    const autotuner = new Scripted(
      tuning,
      { ...tuning, producers: 5 },
      { ...tuning, producers: 1000, memoryBytes: 1e12 },
    );
    const staging = new StagingBuffer({ memory: 20 * UNIT, concurrency: 8, autotuner, clock });
    const prefetcher = new Prefetcher(hierarchy, sequence, { staging, clock });
    const reader = outcomeOf(collect(prefetcher));
    await clock.advance(50);
    expect(prefetcher.stats().reading).toBe(1);
    await clock.advance(100);
    expect(prefetcher.stats().reading).toBe(5);
    await clock.advance(100);
    expect(prefetcher.stats()).toMatchObject({
      reading: 8,
      tuning: { producers: 8, memoryBytes: 20 * UNIT },
    });
    await clock.advance(10_000);
    expect(reader.value).toHaveLength(40);
    await clock.run(hierarchy.close());
  });

  it("[P9] may hold a number of samples, PRISMA's N, and each producer one more", async () => {
    const driver = new HoldingDriver(await objects(SIZES));
    const autotuner = new Scripted({ producers: 4, memoryBytes: 1e6, samples: 3 });
    const prefetcher = new Prefetcher(await over(driver), sequence, { autotuner });
    await settled();
    expect(prefetcher.stats(), 'producers are not bounded by N').toMatchObject({ ready: 0, reading: 4 });
    while (driver.held.length > 0) await driver.release();
    expect(prefetcher.stats()).toMatchObject({ ready: 3 + 4, reading: 0 });
    expect(await driver.releaseAll(collect(prefetcher))).toHaveLength(40);
    expect(driver.mostReading).toBe(4);
  });

  it('[P9] knows busy producers from full memory', async () => {
    const clock = new ManualClock();
    const driver = new HoldingDriver(await objects(SIZES));
    const hierarchy = await over(driver, { clock });
    // One producer for each of two, and the third for neither.
    const staging = new StagingBuffer({ clock, producers: 3, fixed: { samples: 8 }, autotuner: false });
    const readers = [0, 1].map(() => new Prefetcher(hierarchy, sequence, { staging }));
    await settled();
    expect(driver.held).toHaveLength(2);
    await clock.advance(100);
    expect(staging.profile().producerWaitMs).toBe(0);
    for (let i = 0; i < 10; i++) await driver.release();
    await clock.advance(100);
    expect(readers.map((reader) => reader.stats().ready)).toEqual([4 + 1, 4 + 1]);
    expect(staging.profile().producerWaitMs).toBe(100);
    await driver.releaseAll(Promise.all(readers.map((reader) => reader.close())));
  });

  it('[P9] leaves the producers alone that the user gave', async () => {
    const driver = new HoldingDriver(await objects(SIZES));
    const autotuner = new Scripted({ ...tuning, producers: 9, memoryBytes: 1e6 });
    const prefetcher = new Prefetcher(await over(driver), sequence, { autotuner, producers: 2 });
    await settled();
    expect(driver.held).toHaveLength(2);
    await driver.releaseAll(prefetcher.close());
  });

  it('[P9] is told how many producers the source has use for, which bounds none that the user gave', async () => {
    const clock = new ManualClock();
    for (const [readsAtOnce, most] of [
      [undefined, 64],
      [3, 6],
      [50, 64],
    ] as const) {
      const source = new ThrottleDriver(await objects(SIZES), { latencyMs: 50, clock });
      Object.assign(source, { capabilities: { ...source.capabilities, readsAtOnce } });
      const hierarchy = await clock.run(started(source, { scan: true, clock }));
      const autotuner = new Scripted(tuning);
      const prefetcher = new Prefetcher(hierarchy, sequence, { autotuner, clock });
      const given = new Prefetcher(hierarchy, sequence, { producers: 9, clock });
      const all = Promise.all([collect(prefetcher), collect(given)]);
      await clock.advance(20);
      expect(given.stats().reading).toBe(9);
      await clock.run(all);
      expect(new Set(autotuner.seen.map(({ usableProducers }) => usableProducers))).toEqual(new Set([most]));
      await clock.run(hierarchy.close());
    }
  });

  it('[P9] leaves memory and samples alone that the user gave', async () => {
    const hierarchy = await over(await objects(SIZES));
    const staging = new StagingBuffer({
      fixed: { memory: 5 * UNIT, samples: 4 },
      autotuner: new Scripted(tuning),
    });
    const prefetcher = new Prefetcher(hierarchy, sequence, { staging });
    await settled();
    expect(prefetcher.stats()).toMatchObject({ ready: 4 + 1, tuning: { memoryBytes: 5 * UNIT, samples: 4 } });
    await prefetcher.close();
  });

  it('writes a line for each read and each decision, where somebody wants them', async () => {
    const lines: string[] = [];
    const hierarchy = await over(await objects(SIZES));
    const prefetcher = new Prefetcher(hierarchy, sequence, { debug: (line) => lines.push(line) });
    await collect(prefetcher);
    expect(lines.some((line) => line.startsWith('tuned at'))).toBe(true);
    expect(lines.some((line) => line.startsWith('read'))).toBe(true);
  });
});

it.each([
  { fixed: { samples: 0 } },
  { memory: 100, fixed: { memory: 101 } },
  { memory: -1 },
  { memory: 'much' },
  { producers: 0 },
  { concurrency: 1.5 },
])('%j is TIERED_CONFIG_INVALID', (options) => {
  expect(() => new StagingBuffer(options)).toThrow(withCode('TIERED_CONFIG_INVALID'));
});
