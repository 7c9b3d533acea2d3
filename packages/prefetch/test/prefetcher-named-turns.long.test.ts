import type { Hierarchy } from '@tiered/core';
import type { DriverCall } from '@tiered/core/driver';
import {
  listSequence,
  Prefetcher,
  shuffledSequence,
  StagingBuffer,
  type PrefetcherState,
  type SampleSource,
} from '@tiered/prefetch';
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
  type Copied,
} from './helpers.js';

const SIZES = Array.from({ length: 10 }, (_, i) => 100 + i);
const sequence = listSequence(keys(10));
const failure = new Error('a failed read');

/** What a read by name may come to; only a whole one takes the object. */
const ends = ['whole', 'pieces', 'part', 'nothing', 'abort', 'failure'] as const;
type End = (typeof ends)[number];

const setup = fc.record({
  sizes: fc.array(fc.nat(300), { minLength: 1, maxLength: 12 }),
  producers: fc.integer({ min: 1, max: 4 }),
  budget: fc.constantFrom(0, 128, 640, 1e6),
  epochs: fc.integer({ min: 1, max: 3 }),
  seed: fc.nat(1000),
  /** The next sample is taken, or one is read by name. */
  steps: fc.array(
    fc.oneof(fc.constant(undefined), fc.record({ name: fc.nat(), end: fc.constantFrom(...ends) })),
    { maxLength: 20 },
  ),
});

/** A source of which a single read fails, of this object. */
class FailingDriver extends WatchedDriver {
  failing: string | undefined;

  override during = ({ operation, key }: { operation: string; key: string }): unknown => {
    if (operation !== 'readInto' || key !== this.failing) return undefined;
    this.failing = undefined;
    return Promise.reject(failure);
  };
}

/** As a `HoldingDriver`; a read may fail as well. */
class FailableDriver extends HoldingDriver {
  readonly #failing = new Set<string>();

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    const value = await super.intercept(call);
    if (call.operation === 'readInto' && this.#failing.delete(call.key)) throw failure;
    return value;
  }

  fail(key: string): Promise<void> {
    this.#failing.add(key);
    return this.release(key);
  }
}

/** What stands for a hierarchy, and knows no object's size until it is asked. */
function withoutSizes(hierarchy: Hierarchy): SampleSource {
  return {
    readInto: (key, target, options) => hierarchy.readInto(key, target, options),
    stat: (key, options) => hierarchy.stat(key, options),
  };
}

/** Reads by name in such a way that it ends so, if it is not in memory; whether the end was read. */
async function readTo(
  end: End,
  prefetcher: Prefetcher,
  driver: FailingDriver,
  wanted: Copied,
): Promise<boolean> {
  const { key, data } = wanted;
  const size = data.byteLength;
  const controller = new AbortController();
  const bytes = { nothing: 0, part: Math.max(0, size - 1), pieces: Math.ceil(size / 3) };
  const target = new Uint8Array(end in bytes ? bytes[end as keyof typeof bytes] : size + 1);
  const read = (offset: number) => prefetcher.readInto(key, target, { offset, signal: controller.signal });
  const { bypassed } = prefetcher.stats();
  const first = outcomeOf(read(0));
  // Else it is in memory, and the next read of the object would be that of a producer.
  if (end === 'failure' && prefetcher.stats().bypassed > bypassed) driver.failing = key;
  if (end === 'abort') controller.abort(failure);
  await settled();
  let offset = first.value ?? 0;
  // Also behind the end, which takes nothing.
  for (let count = offset; end === 'pieces' && count > 0; offset += count) count = await read(offset);
  return first.value !== undefined && offset >= size;
}

describe('an object that is read by name', () => {
  it('[P1] [P3] [P6] is taken if its end was read, once, and else comes at its place', async () => {
    await fc.assert(
      fc.asyncProperty(setup, async ({ sizes, producers, budget, epochs, seed, steps }) => {
        const driver = new FailingDriver(await objects(sizes));
        const hierarchy = await started(driver);
        const accesses = shuffledSequence(keys(sizes.length), { seed, epochs });
        const prefetcher = new Prefetcher(hierarchy, accesses, {
          producers,
          memory: budget,
          autotuner: false,
        });
        const left = samplesOf(accesses, sizes);
        for (const step of steps) {
          await settled();
          const wanted = step === undefined ? undefined : left[step.name % left.length];
          if (step === undefined) expect(await next(prefetcher)).toEqual(left.shift());
          if (step === undefined || wanted === undefined) continue;
          const isTaken = await readTo(step.end, prefetcher, driver, wanted);
          driver.failing = undefined;
          if (isTaken)
            left.splice(
              left.findIndex(({ key }) => key === wanted.key),
              1,
            );
        }
        // What consumers by name left out, and was given up, counts as taken.
        fc.pre(prefetcher.stats().dropped === 0);
        const state = JSON.parse(JSON.stringify(prefetcher.state())) as PrefetcherState;
        expect(await collect(prefetcher)).toEqual(left);
        expectIdle(prefetcher);
        expect(await collect(new Prefetcher(hierarchy, accesses, { resume: state })), 'resumed').toEqual(
          left,
        );
        await hierarchy.close();
      }),
      { numRuns: 150 },
    );
  }, 30_000);

  const underWay: Record<string, (read: AbortController, driver: FailableDriver) => Promise<void>> = {
    'is aborted': (read, driver) => {
      read.abort(failure);
      return driver.release('5');
    },
    fails: (_, driver) => driver.fail('5'),
    'stops before the end': (_, driver) => driver.release('5'),
  };

  it.each(Object.entries(underWay))(
    '[P1] [P3] comes at its place if the read %s when its turn has come',
    async (how, end) => {
      const driver = new FailableDriver(await objects(SIZES));
      const hierarchy = await over(driver, { scan: true });
      const bytes = how === 'stops before the end' ? 104 : 105;
      const budget = 8 * charge(105);
      // Where the size is known such a read is no obstacle from the start.
      const source = how === 'stops before the end' ? withoutSizes(hierarchy) : hierarchy;
      const prefetcher = new Prefetcher(source, sequence, { memory: budget, producers: 4, autotuner: false });
      const controller = new AbortController();
      const read = outcomeOf(prefetcher.readInto('5', new Uint8Array(bytes), controller));
      await settled();
      const samples = keys(10).map(() => outcomeOf(next(prefetcher)));
      await settled();
      for (const key of ['0', '1', '2', '3', '4', '6', '7']) await driver.release(key);
      expect(samples[4]).toMatchObject({ value: { key: '4' } });
      expect(samples[5], 'waits for how the read ends').toEqual({});
      expect(
        driver.started.filter((key) => key === '5'),
        'is read by its consumer',
      ).toHaveLength(1);
      expect(prefetcher.state(), 'is not taken').toMatchObject({ epoch: 0, position: 5, taken: [] });
      await end(controller, driver);
      expect(read).toEqual(how === 'stops before the end' ? { value: 104 } : { error: failure });
      await driver.releaseAll(Promise.resolve());
      expect(samples.map(({ value }) => value)).toEqual(samplesOf(sequence, SIZES));
      await driver.releaseAll(prefetcher.close());
      expectIdle(prefetcher);
    },
  );

  it('[P5] is passed over, and read once, if the read reaches the end after its turn has come', async () => {
    const driver = new HoldingDriver(await objects(SIZES));
    const prefetcher = new Prefetcher(await over(driver), sequence, { producers: 4, autotuner: false });
    const read = outcomeOf(prefetcher.readInto('1', new Uint8Array(200)));
    await settled();
    const first = await driver.releaseAll(Promise.resolve()).then(() => next(prefetcher));
    expect(first?.key).toBe('0');
    expect(read).toEqual({ value: 101 });
    expect(prefetcher.state()).toMatchObject({ position: 2, early: {} });
    const rest = outcomeOf(collect(prefetcher));
    await driver.releaseAll(Promise.resolve());
    while (rest.value === undefined) await driver.releaseAll(settled());
    expect(rest.value.map(({ key }) => key)).toEqual(keys(10).slice(2));
    expect(driver.started.toSorted()).toEqual(keys(10));
  });

  it('[P6] is left, and its consumer told so, if the prefetcher is closed while it is read', async () => {
    const driver = new HoldingDriver(await objects(SIZES));
    const prefetcher = new Prefetcher(await over(driver), sequence, { producers: 2, autotuner: false });
    const reads = ['1', '9'].map((key) => outcomeOf(prefetcher.readInto(key, new Uint8Array(200))));
    await settled();
    await driver.releaseAll(prefetcher.close());
    const closed = { error: withCode('TIERED_CLOSED') };
    expect(reads).toEqual([closed, closed]);
    expect(prefetcher.state()).toMatchObject({ epoch: 0, position: 0, taken: [], early: {} });
    expectIdle(prefetcher);
  });

  it('[P5] is taken once where the source knows no sizes, also by one who reads on behind the end', async () => {
    const sizes = [0, 6, 12];
    const accesses = listSequence(['2', '0', '1', '2', '0', '1', '2', '0', '1']);
    for (const budget of [0, 1e6])
      for (const piece of [1, 3, 4, 6, 7]) {
        const source = withoutSizes(await over(await objects(sizes)));
        const prefetcher = new Prefetcher(source, accesses, {
          memory: budget,
          producers: 1,
          autotuner: false,
        });
        await settled();
        for (const key of ['1', '0', '1']) {
          const target = new Uint8Array(piece);
          let [offset, count] = [0, piece];
          for (; count > 0; offset += count) count = await prefetcher.readInto(key, target, { offset });
        }
        const left = (await collect(prefetcher)).map(({ key }) => key);
        expect(left, `${budget} ${piece}`).toEqual(['2', '2', '0', '2', '0', '1']);
      }
  });
});

it.each(['is closed', 'is aborted'])(
  '[P3] a read by name that is at the source ends when its prefetcher %s',
  async (how) => {
    const driver = new HoldingDriver(await objects(SIZES));
    const controller = new AbortController();
    const prefetcher = new Prefetcher(await over(driver), sequence, {
      memory: 0,
      producers: 1,
      signal: controller.signal,
    });
    await settled();
    const target = new Uint8Array(SIZES[9] ?? 0);
    const read = outcomeOf(prefetcher.readInto('9', target));
    await settled();
    const reason = new Error('enough');
    if (how === 'is aborted') controller.abort(reason);
    const closed = outcomeOf(prefetcher.close().then(() => 'closed'));
    await settled();
    // The driver does not listen, and may still write to the target.
    expect(closed).toEqual({});
    while (driver.held.length > 0) await driver.release();
    expect(closed).toEqual({ value: 'closed' });
    expect(read.error).toEqual(how === 'is aborted' ? reason : withCode('TIERED_CLOSED'));
    expectIdle(prefetcher);
  },
);

it('[P1] all who wait are served after a read by name that failed when its object had its turn', async () => {
  const driver = new FailableDriver(await objects(SIZES));
  const prefetcher = new Prefetcher(await over(driver), listSequence(['0', '1']), {
    memory: 0,
    producers: 2,
  });
  const read = outcomeOf(prefetcher.readInto('0', new Uint8Array(SIZES[0] ?? 0)));
  await settled();
  await driver.fail('0');
  expect(read.error).toBe(failure);
  const taken = [outcomeOf(next(prefetcher)), outcomeOf(next(prefetcher))];
  await settled();
  while (driver.held.length > 0) await driver.release();
  expect(taken.map(({ value }) => value?.key)).toEqual(['0', '1']);
  await prefetcher.close();
});

it('[P8] a prefetcher that is aborted while an object given back is read leaves its share when that has ended', async () => {
  const driver = new FailableDriver(await objects(SIZES));
  const staging = new StagingBuffer({ memory: 4 * charge(100), producers: 4, autotuner: false });
  const controller = new AbortController();
  const { signal } = controller;
  const one = new Prefetcher(await over(driver), listSequence(['0']), { staging, signal });
  const read = outcomeOf(one.readInto('0', new Uint8Array(SIZES[0] ?? 0)));
  await settled();
  const other = new Prefetcher(await over(await objects(SIZES.map(() => 100))), sequence, { staging });
  await driver.fail('0');
  expect(read.error).toBe(failure);
  controller.abort(new Error('enough'));
  await settled();
  expect(other.stats().heldBytes).toBe(2 * charge(100));
  await driver.release('0');
  expect(other.stats().heldBytes).toBe(4 * charge(100));
  await Promise.all([one.close(), other.close()]);
});

describe('a read by name from a source that does not know sizes', () => {
  /** Its `stat` waits until it is let go, or fails. */
  function sourceWith(stat: () => Promise<{ size: number }>): SampleSource {
    const readInto = async (_: string, target: Uint8Array) => target.fill(1).byteLength;
    return { namespace: undefined, stat, readInto };
  }

  it('[P5] gives what it has read, though nobody can tell whether that was all', async () => {
    const source = sourceWith(() => Promise.reject(failure));
    const prefetcher = new Prefetcher(source, listSequence([]));
    expect(await prefetcher.readInto('a', new Uint8Array(10))).toBe(10);
    await prefetcher.close();
  });

  it('[P3] is waited for at close', async () => {
    let answer: (stat: { size: number }) => void = () => undefined;
    const source = sourceWith(() => new Promise((resolve) => (answer = resolve)));
    const prefetcher = new Prefetcher(source, listSequence([]));
    const read = outcomeOf(prefetcher.readInto('a', new Uint8Array(10)));
    await settled();
    const closed = outcomeOf(prefetcher.close().then(() => 'closed'));
    await settled();
    expect(closed).toEqual({});
    answer({ size: 10 });
    await settled();
    expect([closed.value, read.error]).toEqual(['closed', withCode('TIERED_CLOSED')]);
  });
});
