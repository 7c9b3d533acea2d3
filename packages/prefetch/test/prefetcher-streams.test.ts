import {
  listSequence,
  Prefetcher,
  shuffledSequence,
  type AccessInput,
  type SampleSource,
} from '@tiered/prefetch';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  collect,
  expectIdle,
  HoldingDriver,
  keys,
  listenersOn,
  next,
  objects,
  outcomeOf,
  over,
  samplesOf,
  settled,
  withCode,
} from './helpers.js';

const COUNT = 20;
const SIZES = Array.from({ length: COUNT }, (_, i) => 100 + i);

/** What became of a stream. */
class Told {
  pulled = 0;
  left = 0;
}

/** The items as a stream that waits before the item of these numbers, and tells what becomes of it. */
async function* streamOf<T>(items: Iterable<T>, told = new Told(), waits: readonly number[] = []) {
  let hasEnded = false;
  try {
    for (const item of items) {
      if (waits.includes(told.pulled)) await settled();
      told.pulled += 1;
      yield item;
    }
    hasEnded = true;
  } finally {
    if (!hasEnded) told.left += 1;
  }
}

function* endless(): Generator<string> {
  for (let i = 0; ; i++) yield `${i % COUNT}`;
}

it('[P1] accesses that come as a stream give the samples of a list, whenever they come', async () => {
  const hierarchy = await over(await objects(SIZES));
  const sequence = shuffledSequence(keys(COUNT), { seed: 3, epochs: 2 });
  const expected = samplesOf(sequence, SIZES);
  const waits = fc.uniqueArray(fc.nat(2 * COUNT), { maxLength: 10 });
  const producers = fc.integer({ min: 1, max: 6 });
  await fc.assert(
    fc.asyncProperty(waits, producers, fc.nat(1000), async (list, count, budget) => {
      const options = { producers: count, memory: budget, autotuner: false as const };
      const prefetcher = new Prefetcher(hierarchy, streamOf(sequence, new Told(), list), options);
      expect(await collect(prefetcher)).toEqual(expected);
      expect(await next(prefetcher)).toBeUndefined();
      expectIdle(prefetcher);
      await prefetcher.close();
    }),
    { numRuns: 40 },
  );
});

it('[P1] keys, in a list or a stream, are samples of one epoch, at the positions in which they come', async () => {
  const hierarchy = await over(await objects(SIZES));
  const expected = samplesOf(listSequence(keys(COUNT)), SIZES);
  expect(await collect(new Prefetcher(hierarchy, keys(COUNT)))).toEqual(expected);
  expect(await collect(new Prefetcher(hierarchy, streamOf(keys(COUNT))))).toEqual(expected);
});

it('[P1] an access is noticed that comes when all that came before it has been read meanwhile', async () => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  let stop: () => void = () => undefined;
  const end = new Promise<void>((resolve) => (stop = resolve));
  async function* gated() {
    yield* keys(2);
    await gate;
    yield '2';
    await end;
  }
  const driver = new HoldingDriver(await objects(SIZES));
  const prefetcher = new Prefetcher(await over(driver), gated(), { producers: 1, autotuner: false });
  await settled();
  // The only producer reads the first, while the second has come and the third is asked for.
  expect(driver.held).toEqual(['0']);
  await driver.release();
  await driver.release();
  expect((await next(prefetcher))?.key).toBe('0');
  expect((await next(prefetcher))?.key).toBe('1');
  const third = outcomeOf(next(prefetcher));
  await settled();
  open();
  await settled();
  expect(driver.held).toEqual(['2']);
  await driver.release();
  expect(third).toMatchObject({ value: { key: '2' } });
  stop();
  expect(await next(prefetcher)).toBeUndefined();
});

it('[P1] an empty stream ends at once', async () => {
  expect(await collect(new Prefetcher(await over(await objects([])), streamOf([])))).toEqual([]);
});

it('[P2] no more than 256 accesses are taken from a stream ahead of what is read', async () => {
  const told = new Told();
  const prefetcher = new Prefetcher(await over(await objects(SIZES)), streamOf(endless(), told), {
    memory: 500,
  });
  for (let taken = 1; taken <= 1000; taken++) {
    await next(prefetcher);
    const { ready, reading } = prefetcher.stats();
    // And the one that has no room.
    expect(told.pulled).toBeLessThanOrEqual(taken + ready + reading + 1 + 256);
  }
  await prefetcher.close();
});

it('[P3] a stream that fails is thrown at its place, after the samples before it', async () => {
  const failure = new Error('the list of objects broke off');
  async function* failing() {
    yield* keys(3);
    await settled();
    throw failure;
  }
  const prefetcher = new Prefetcher(await over(await objects(SIZES)), failing());
  for (const sample of samplesOf(listSequence(keys(3)), SIZES))
    expect(await next(prefetcher)).toEqual(sample);
  await expect(next(prefetcher)).rejects.toBe(failure);
  await expect(next(prefetcher)).rejects.toBe(failure);
  expectIdle(prefetcher);
});

it.each<[string, () => AccessInput]>([
  ['a stream', () => ({ [Symbol.asyncIterator]: () => fail() })],
  ['a list', () => ({ [Symbol.iterator]: () => fail() })],
])('[P3] %s that cannot be begun fails the first sample, and not the process', async (_, accesses) => {
  const prefetcher = new Prefetcher(await over(await objects(SIZES)), accesses());
  await settled();
  await expect(next(prefetcher)).rejects.toThrow('not now');
  await prefetcher.close();
});

function fail(): never {
  throw new Error('not now');
}

it('[P3] what is no access is thrown at its place', async () => {
  const hierarchy = await over(await objects(SIZES));
  for (const item of [undefined, null, 5, { key: 5 }]) {
    const items = ['0', item] as readonly string[];
    for (const accesses of [items, streamOf(items)]) {
      const prefetcher = new Prefetcher(hierarchy, accesses);
      expect((await next(prefetcher))?.key).toBe('0');
      await expect(next(prefetcher)).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
      await prefetcher.close();
    }
  }
});

it.each<[string, (prefetcher: Prefetcher, controller: AbortController) => unknown]>([
  [
    'its loop is left',
    async (prefetcher) => {
      for await (const { position } of prefetcher) if (position === 2) break;
    },
  ],
  ['it is closed', (prefetcher) => prefetcher.close()],
  ['it is aborted', (_, controller) => controller.abort(new Error('enough'))],
])('[P3] a stream is told by return when %s, once, and what it throws then is lost', async (_, leave) => {
  const told = new Told();
  async function* throwing() {
    try {
      yield* streamOf(endless(), told);
    } finally {
      fail();
    }
  }
  const controller = new AbortController();
  const options = { memory: 500, signal: controller.signal };
  const prefetcher = new Prefetcher(await over(await objects(SIZES)), throwing(), options);
  await next(prefetcher);
  await leave(prefetcher, controller);
  await prefetcher.close();
  await settled();
  expect(told.left).toBe(1);
  const { pulled } = told;
  await settled();
  expect(told.pulled).toBe(pulled);
  expect(listenersOn(controller.signal)).toBe(0);
  expectIdle(prefetcher);
});

it('[P3] a stream that is read to its end is not told, and one is told when a read has failed', async () => {
  const hierarchy = await over(await objects(SIZES));
  const whole = new Told();
  const prefetcher = new Prefetcher(hierarchy, streamOf(keys(COUNT), whole));
  await collect(prefetcher);
  await prefetcher.close();
  expect(whole.left).toBe(0);
  const cut = new Told();
  const failing = new Prefetcher(
    hierarchy,
    streamOf(['0', 'missing', ...Array.from({ length: 1000 }, () => '1')], cut),
  );
  await expect(collect(failing)).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
  await settled();
  expect(cut.left).toBe(1);
});

it('[B1] a stream that tells nothing any more holds up neither an abort nor the end', async () => {
  let more: (step: IteratorResult<string>) => void = () => undefined;
  const silent: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise((resolve) => (more = resolve)),
      return: () => new Promise(() => undefined),
    }),
  };
  const prefetcher = new Prefetcher(await over(await objects(SIZES)), silent);
  const controller = new AbortController();
  const taking = outcomeOf(prefetcher.take(1, controller));
  await settled();
  const reason = new Error('enough');
  controller.abort(reason);
  await settled();
  expect(taking).toEqual({ error: reason });
  await prefetcher.close();
  more({ done: false, value: '0' });
  await settled();
  expectIdle(prefetcher);
  await expect(prefetcher.take(1)).rejects.toEqual(withCode('TIERED_CLOSED'));
});

it('[P5] an object that was read by name before its key came is passed over', async () => {
  const hierarchy = await over(await objects(SIZES));
  async function* late() {
    await settled();
    yield* keys(3);
  }
  const prefetcher = new Prefetcher(hierarchy, late());
  expect(await prefetcher.readInto('1', new Uint8Array(SIZES[1] ?? 0))).toBe(SIZES[1]);
  expect((await collect(prefetcher)).map(({ key }) => key)).toEqual(['0', '2']);
});

it('[P6] a stream has no state to go on from, and that is said', async () => {
  const hierarchy = await over(await objects(SIZES));
  const prefetcher = new Prefetcher(hierarchy, streamOf(keys(COUNT)));
  expect(() => prefetcher.state()).toThrow(withCode('TIERED_CONFIG_INVALID'));
  await prefetcher.close();
});

it.each([undefined, null, 5, 'a text', {}, Promise.resolve([])])(
  'what cannot be iterated is TIERED_CONFIG_INVALID: %s',
  (accesses) => {
    const source: SampleSource = { stat: async () => ({ size: 0 }), readInto: async () => 0 };
    expect(() => new Prefetcher(source, accesses as AccessInput)).toThrow(withCode('TIERED_CONFIG_INVALID'));
  },
);
