import { TieredError } from '@tiered/core';
import { Prefetcher, type SampleSource } from '@tiered/prefetch';
import { prefetchChannel, type PrefetchTrace } from '@tiered/core/tracing';
import fc from 'fast-check';
import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, it, onTestFinished } from 'vitest';
import { KeyRequest } from '../../src/request.js';
import { Entry, TracedSample } from '../../src/staging/entry.js';
import { BufferMemory, QueueMemory } from '../../src/staging/queue-memory.js';
import { readEntries } from '../../src/staging/read-entries.js';
import { ReusedMemory } from '../../src/staging/reused-memory.js';
import { charge, keys, settled, withCode } from '../helpers.js';

/** What becomes of an object between its admission and the end of its read. */
const FATES = ['whole', 'longer', 'fails', 'gone', 'unreadable', 'endless', 'untold'] as const;
type Fate = (typeof FATES)[number];

const SIZE = 8;
const LONGER = 12;
const errorOf = (key: string) => new TieredError('TIERED_IO', `Object ${key} is bad.`, { key });

/** A source of objects with these fates; each holds its number in every byte. */
function sourceOf(
  fates: readonly Fate[],
  rejects: boolean,
): SampleSource & Required<Pick<SampleSource, 'readMany'>> {
  const fateOf = (key: string) => fates[Number(key)];
  const isLonger = (key: string) => fateOf(key) === 'longer' || fateOf(key) === 'unreadable';
  const source: SampleSource = {
    async stat(key) {
      if (fateOf(key) === 'gone') throw errorOf(key);
      if (fateOf(key) === 'endless') return { size: 2 ** 52 };
      return { size: isLonger(key) ? LONGER : SIZE };
    },
    async readInto(key, target) {
      if (fateOf(key) === 'fails' || fateOf(key) === 'unreadable') throw errorOf(key);
      if (fateOf(key) === 'gone' || fateOf(key) === 'endless') return 1;
      const part = target.subarray(0, isLonger(key) ? LONGER : SIZE);
      part.fill(Number(key));
      return isLonger(key) && target.byteLength === SIZE ? 1 : part.byteLength;
    },
  };
  return {
    ...source,
    async readMany(requests) {
      if (rejects) throw new Error('no batches today');
      const told = requests.findLastIndex(({ key }) => fateOf(key) !== 'untold') + 1;
      return Promise.all(
        requests.slice(0, told).map(async ({ key, target }) => {
          if (fateOf(key) === 'unreadable') return { bytes: 1 };
          return source.readInto(key, target).then(
            (bytes) => ({ bytes }),
            (error: unknown) => ({ error }),
          );
        }),
      );
    },
  };
}

const entryOf = (source: SampleSource, i: number, memory = new QueueMemory(0, new BufferMemory(0))) =>
  new Entry(
    new KeyRequest(source, { key: `${i}`, epoch: 0, position: i }),
    SIZE,
    i,
    new ReusedMemory().take(SIZE),
    memory,
    () => undefined,
  );

it('[P3] an object that cannot be read fails its own sample, whatever its neighbours in the batch are', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...FATES), { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      async (fates, rejects) => {
        const shared = new BufferMemory(0);
        const memory = new QueueMemory(0, shared);
        const source = sourceOf(fates, rejects);
        const batch = fates.map((_, i) => entryOf(source, i, memory));
        await readEntries(source, batch, new AbortController().signal);
        for (const [i, fate] of fates.entries()) {
          const entry = batch[i] as Entry;
          if (fate === 'whole' || fate === 'untold' || fate === 'longer') {
            expect(entry.state, `${i} is ${fate}`).toBe('ready');
            expect([...entry.bytes]).toEqual(new Array(fate === 'longer' ? LONGER : SIZE).fill(i));
          } else {
            expect(entry.state, `${i} is ${fate}`).toBe('failed');
            expect(entry.error).toMatchObject({ key: `${i}` });
          }
        }
        const grown = fates.filter((fate) => fate === 'longer').length;
        expect(shared.heldBytes, '[P2] what has grown counts').toBe(grown * charge(LONGER));
        for (const entry of batch) entry.leave().free();
        expect(shared.heldBytes).toBe(0);
      },
    ),
    { numRuns: 50, examples: [[['gone', 'whole', 'longer'], false]] },
  );
});

it('a batch that was given up is not read singly as well', async () => {
  const reason = new Error('enough');
  const controller = new AbortController();
  let singly = 0;
  const source: SampleSource = {
    ...sourceOf(['whole', 'whole'], false),
    readInto: async () => (singly += 1),
    async readMany() {
      controller.abort(reason);
      throw reason;
    },
  };
  const batch = [0, 1].map((i) => entryOf(source, i));
  await readEntries(source, batch, controller.signal);
  expect(batch.map(({ error }) => error)).toEqual([reason, reason]);
  expect(singly).toBe(0);
});

it('a sample that cannot be copied to those who want the same object is theirs to lose', () => {
  const source = sourceOf(['whole'], false);
  const [first, second] = [entryOf(source, 0), entryOf(source, 0)];
  second.follow(first);
  // More than any memory holds: nothing can be made of this size for the second.
  const huge = Object.defineProperty(new Uint8Array(1), 'byteLength', { value: 2 ** 52 });
  first.succeed(huge);
  expect(first.state).toBe('ready');
  expect(second.state).toBe('failed');
  expect(second.error).toMatchObject({ code: 'TIERED_TOO_LARGE' });
});

/** Objects of 64 bytes, as far as is known, that grow to these sizes, by one at each read. */
function growing(sizes: readonly number[]): SampleSource {
  const reads = new Map<string, number>();
  const all: string[] = [];
  const sizeOf = (key: string) => [64, ...sizes][Math.min(reads.get(key) ?? 0, sizes.length)] ?? 64;
  return {
    namespace: {
      find: (key) => (all.includes(key) ? all.indexOf(key) : all.push(key) - 1),
      sizeOf: (id) => sizeOf(all[id] ?? ''),
    },
    stat: async (key) => ({ size: sizeOf(key) }),
    async readInto(key, target) {
      reads.set(key, (reads.get(key) ?? 0) + 1);
      const count = Math.min(target.byteLength, sizeOf(key));
      target.fill(1, 0, count);
      return count;
    },
  };
}

it.each([{ sizes: [100, 200] }, { sizes: [100, 10, 300] }])(
  '[R1] an object that changes its size while it is read is given whole: %j',
  async ({ sizes }) => {
    const prefetcher = new Prefetcher(growing(sizes), ['a']);
    const [sample] = await prefetcher.take(1);
    expect(sample?.data).toEqual(new Uint8Array(sizes.at(-1) ?? 0).fill(1));
    expect(prefetcher.stats().heldBytes).toBe(charge(sizes.at(-1) ?? 0));
    sample?.release();
    expect(prefetcher.stats().heldBytes).toBe(0);
  },
);

it('[R1] an object that has another size after each read fails', async () => {
  const prefetcher = new Prefetcher(growing(Array.from({ length: 100 }, (_, i) => 65 + i)), ['a']);
  await expect(prefetcher.take(1)).rejects.toEqual(withCode('TIERED_SOURCE_CHANGED'));
  expect(prefetcher.stats().heldBytes).toBe(0);
});

it('[P2] objects that have grown fill the budget with what they hold now', async () => {
  const [grown, producers] = [100_000, 2];
  const options = { memory: 2 * grown, producers, autotuner: false } as const;
  const prefetcher = new Prefetcher(growing([grown]), keys(50), options);
  await settled();
  const { ready, heldBytes } = prefetcher.stats();
  expect(heldBytes).toBe(ready * charge(grown));
  expect(heldBytes).toBeLessThanOrEqual(2 * grown + producers * charge(grown));
  let count = 0;
  for await (const { data } of prefetcher) if (data.byteLength === grown) count += 1;
  expect(count).toBe(50);
  expect(prefetcher.stats().heldBytes).toBe(0);
});

it('reads a batch as a part of its first sample, and what has to be read again as a part of its own', async () => {
  const store = new AsyncLocalStorage<PrefetchTrace>();
  prefetchChannel.start.bindStore(store);
  onTestFinished(() => void prefetchChannel.start.unbindStore(store));
  const parents: string[] = [];
  const source = sourceOf(['whole', 'longer', 'whole', 'untold'], false);
  const note = (called: string) => parents.push(`${called} in ${store.getStore()?.key}`);
  const noting: SampleSource = {
    stat: (...args) => (note(`stat ${args[0]}`), source.stat(...args)),
    readInto: (...args) => (note(`readInto ${args[0]}`), source.readInto(...args)),
    readMany: (...args) => (note('readMany'), source.readMany(...args)),
  };
  const entries = [0, 1, 2, 3].map((i) => entryOf(noting, i));
  for (const entry of entries) entry.trace = new TracedSample(undefined, entry);
  await readEntries(noting, entries, new AbortController().signal);
  expect(entries.map(({ state }) => state)).toEqual(['ready', 'ready', 'ready', 'ready']);
  expect(parents.sort()).toEqual(['readInto 1 in 1', 'readInto 3 in 3', 'readMany in 0', 'stat 1 in 1']);
  expect(store.getStore()).toBeUndefined();
});
