import { shuffledSequence } from '@tiered/prefetch';
import { stack } from '@tiered/loader';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allNames, groups, loaderOf, nameOf, namesOf, singles } from './helpers.js';

const countsArbitrary = fc
  .array(fc.nat(30), { minLength: 1, maxLength: 8 })
  .filter((counts) => counts.some((n) => n > 0));

describe('the batches of a loader', () => {
  it('[D1] have every sample once an epoch, whatever the shuffle and the form of the records', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          counts: countsArbitrary,
          batchSize: fc.integer({ min: 1, max: 12 }),
          epochs: fc.integer({ min: 1, max: 3 }),
          each: fc.integer({ min: 1, max: 5 }),
          shuffle: fc.constantFrom(undefined, true, false, { window: 64 }),
          seed: fc.nat(),
        }),
        async ({ counts, each, ...options }) => {
          const samples = each === 1 ? await singles(counts) : await groups(counts, each);
          const loader = loaderOf(samples, options);
          const all = allNames(counts);
          for (let epoch = 0; epoch < options.epochs; epoch++) {
            const batches = await namesOf(loader.epoch());
            expect(batches).toHaveLength(loader.batchesPerEpoch);
            for (const batch of batches.slice(0, -1)) expect(batch).toHaveLength(options.batchSize);
            const names = batches.flat();
            expect(options.shuffle === false ? names : names.toSorted()).toEqual(
              options.shuffle === false ? all : all.toSorted(),
            );
          }
          expect(await namesOf(loader.epoch())).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('[D2] have the order that a shuffled sequence of the same seed has', async () => {
    const counts = [3, 4, 5];
    const sequence = shuffledSequence(allNames(counts), { seed: 7, epochs: 2 });
    const loader = loaderOf(await singles(counts), { batchSize: 5, epochs: 2, seed: 7 });
    expect((await namesOf(loader)).flat()).toEqual([...sequence].map(({ key }) => key));
  });

  it('are lent to each of several loops until that loop asks for the next one', async () => {
    const prefetch = { memory: 4096 };
    const options = { batchSize: 2, epochs: 50, seed: 1, prefetch };
    const alone = (await namesOf(loaderOf(await singles([3, 4]), options))).flat().toSorted();
    const loader = loaderOf(await singles([3, 4]), options);
    const seen: string[] = [];
    const [slow, fast] = [loader[Symbol.asyncIterator](), loader[Symbol.asyncIterator]()];
    for (;;) {
      const held = await slow.next();
      if (held.done === true) break;
      const before = held.value.data.map(nameOf);
      for (let i = 0; i < 3; i++) {
        const { value } = await fast.next();
        if (value !== undefined) seen.push(...value.data.map(nameOf));
      }
      expect(held.value.data.map(nameOf)).toEqual(before);
      seen.push(...before);
    }
    expect(seen.toSorted()).toEqual(alone);
  });

  it('say what they have', async () => {
    const loader = loaderOf(await singles([3, 1]), { batchSize: 3, shuffle: false });
    const said: unknown[] = [];
    for await (const batch of loader)
      said.push([batch.epoch, batch.index, batch.size, [...batch.samples], batch.nameOf(0)]);
    expect(said).toEqual([
      [0, 0, 3, [0, 1, 2], '0000#0'],
      [0, 1, 1, [3], '0001'],
    ]);
  });

  it('are made by transform and collate', async () => {
    const loader = loaderOf(await singles([5]), {
      batchSize: 2,
      shuffle: false,
      transform: async (bytes, { sample }) => Float32Array.of(sample, bytes[7] ?? 0),
      collate: stack,
    });
    const made: unknown[] = [];
    for await (const { data } of loader) made.push([[...data.data], data.shape]);
    expect(made).toEqual([
      [
        [0, 0, 1, 1],
        [2, 2],
      ],
      [
        [2, 2, 3, 3],
        [2, 2],
      ],
      [
        [4, 4],
        [1, 2],
      ],
    ]);
  });
});

describe('ranks', () => {
  it('[D3] get as many batches of the same sizes, and share every sample', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          counts: countsArbitrary,
          batchSize: fc.integer({ min: 1, max: 7 }),
          ranks: fc.integer({ min: 1, max: 5 }),
          dropLast: fc.boolean(),
          shuffle: fc.constantFrom(undefined, false, { window: 100 }),
        }),
        async ({ counts, ranks, ...options }) => {
          const samples = await singles(counts);
          const total = counts.reduce((sum, count) => sum + count, 0);
          const batches = await Promise.all(
            Array.from({ length: ranks }, (_, rank) =>
              namesOf(loaderOf(samples, { ...options, rank, ranks })),
            ),
          );
          const sizes = batches.map((ofRank) => ofRank.map(({ length }) => length));
          for (const ofRank of sizes) expect(ofRank).toEqual(sizes[0]);
          const read = batches.flat(2);
          if (options.dropLast) {
            const global = options.batchSize * ranks;
            expect(read).toHaveLength(total - (total % global));
            expect(new Set(read).size).toBe(read.length);
          } else {
            expect(read).toHaveLength(Math.ceil(total / ranks) * ranks);
            expect([...new Set(read)].sort()).toEqual(allNames(counts).sort());
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe('a loader that goes on', () => {
  it('[D4] gives exactly what was left, in the same global order, with other ranks and batches', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          counts: countsArbitrary,
          each: fc.integer({ min: 1, max: 3 }),
          shuffle: fc.constantFrom(undefined, false, { window: 100 }),
          seed: fc.nat(),
          steps: fc.nat(20),
          before: fc.record({
            batchSize: fc.integer({ min: 1, max: 6 }),
            ranks: fc.integer({ min: 1, max: 4 }),
          }),
          after: fc.record({
            batchSize: fc.integer({ min: 1, max: 6 }),
            ranks: fc.integer({ min: 1, max: 4 }),
          }),
        }),
        async ({ counts, each, shuffle, seed, steps, before, after }) => {
          const epochs = 2;
          const samples = each === 1 ? await singles(counts) : await groups(counts, each);
          const base = { epochs, seed, shuffle };
          const started = Array.from({ length: before.ranks }, (_, rank) =>
            loaderOf(samples, { ...base, ...before, rank }),
          );
          for (const loader of started) await namesOf(loader, steps === 0 ? 1 : steps);
          const states = started.map((loader) => loader.stateDict());
          for (const state of states) expect(state).toEqual(states[0]);
          const resume = JSON.parse(JSON.stringify(states[0])) as (typeof states)[0];
          const rest = await Promise.all(
            Array.from({ length: after.ranks }, (_, rank) =>
              namesOf(loaderOf(samples, { ...base, ...after, rank, resume: resume })),
            ),
          );
          // One loader of one rank that had lanes as the first had reads the global order.
          const state = { ...states[0], epoch: 0, done: 0 };
          const whole = loaderOf(samples, { ...base, batchSize: 1, resume: state as never });
          const order = await namesOf(whole);
          const total = samples.samples;
          const taken = (resume?.epoch ?? 0) * total + (resume?.done ?? 0);
          expect(globalOrder(rest, after.ranks)).toEqual(
            withRepeats(order.flat(), taken, total, after.ranks),
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  it('[D4] refuses the state of other samples, another seed or shuffle, and what is no state', async () => {
    const samples = await singles([9]);
    const state = loaderOf(samples, { batchSize: 2, seed: 1 }).stateDict();
    const refused: [object, object][] = [
      [{ seed: 2 }, state],
      [{ seed: 1, shuffle: false }, state],
      [{ seed: 1 }, { ...state, version: 2 }],
      [{ seed: 1 }, { ...state, done: 9 }],
      [{ seed: 1 }, { ...state, epoch: 2 }],
      [{ seed: 1 }, { ...state, lanes: 0 }],
    ];
    for (const [options, resume] of refused)
      expect(() => loaderOf(samples, { batchSize: 2, ...options, resume: resume as never })).toThrow(
        /^resume/,
      );
    const other = await singles([8, 1]);
    expect(() => loaderOf(other, { batchSize: 2, seed: 1, resume: state })).toThrow(/^resume\.order/);
  });
});

/** The samples of all ranks in the order of the steps of a training. */
function globalOrder(ranks: readonly string[][][], count: number): string[] {
  const order: string[] = [];
  for (let batch = 0; batch < (ranks[0]?.length ?? 0); batch++)
    for (let i = 0; i < (ranks[0]?.[batch]?.length ?? 0); i++)
      for (let rank = 0; rank < count; rank++) order.push(ranks[rank]?.[batch]?.[i] ?? '');
  return order;
}

/** What is left of an order, with the samples that are read once more at the ends of epochs. */
function withRepeats(order: readonly string[], taken: number, total: number, ranks: number): string[] {
  const rest: string[] = [];
  for (let at = taken; at < order.length;) {
    const epoch = Math.floor(at / total);
    const left = order.slice(at, (epoch + 1) * total);
    rest.push(...left);
    for (let i = 0; (left.length + i) % ranks !== 0; i++) rest.push(order[epoch * total + (i % total)] ?? '');
    at += left.length;
  }
  return rest;
}

describe('parts', () => {
  it('[D1] with weights keep them at every point of an epoch, each in its own order, over and over', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ size: fc.integer({ min: 1, max: 300 }), weight: fc.integer({ min: 1, max: 50 }) }),
          {
            minLength: 2,
            maxLength: 4,
          },
        ),
        async (given) => {
          const epochSamples = 1000;
          const parts = await Promise.all(
            given.map(async ({ size, weight }) => ({ samples: await singles([size]), weight })),
          );
          const loader = loaderOf(parts, { batchSize: 1, epochs: 2, epochSamples });
          const sum = given.reduce((total, { weight }) => total + weight, 0);
          const taken = given.map(() => [] as string[]);
          let position = 0;
          for await (const batch of loader) {
            taken[parts.findIndex(({ samples }) => samples === batch.setOf(0))]?.push(
              nameOf(batch.data[0] ?? new Uint8Array(8)),
            );
            position += 1;
            for (const [i, { weight }] of given.entries())
              expect(Math.abs((taken[i]?.length ?? 0) - (position * weight) / sum)).toBeLessThan(3);
          }
          expect(position).toBe(2 * epochSamples);
          for (const [i, { size }] of given.entries()) {
            const rounds = Math.floor((taken[i]?.length ?? 0) / size);
            for (let round = 0; round < rounds; round++)
              expect(new Set(taken[i]?.slice(round * size, (round + 1) * size)).size).toBe(size);
          }
        },
      ),
      { numRuns: 5 },
    );
  });

  it('of one set can be chosen by their numbers', async () => {
    const samples = await singles([10]);
    const only = Uint32Array.of(1, 4, 8);
    for (const shuffle of [true, false, { window: 8 }]) {
      const names = await namesOf(loaderOf([{ samples, only }], { batchSize: 2, shuffle }));
      expect(names.flat().sort()).toEqual(['0/1', '0/4', '0/8']);
    }
    expect(() => loaderOf([{ samples, only: Uint32Array.of(4, 1) }], { batchSize: 1 })).toThrow(
      /rising numbers/,
    );
    expect(() => loaderOf([{ samples, only: Uint32Array.of(10) }], { batchSize: 1 })).toThrow(/below 10/);
  });
});

it('[D8] reads each run of neighbours once an epoch where it shuffles in windows', async () => {
  const samples = await groups([64, 64, 64, 64], 8);
  const loader = loaderOf(samples, { batchSize: 10, shuffle: { window: 512 }, epochs: 2 });
  await namesOf(loader);
  expect(samples.hierarchy.stats().source).toMatchObject({ reads: 8, readBytes: 2 * 4 * 64 * 8 });
});
