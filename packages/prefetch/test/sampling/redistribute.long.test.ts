import { Prefetcher, type Access, type AccessSequence, type PrefetcherState } from '@tiered/prefetch';
import {
  globalBatchSampler,
  redistribute,
  samplerSequence,
  torchDistributedSampler,
  type GlobalBatchSampler,
  type Sampler,
} from '@tiered/prefetch/sampling';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { collect, keys, next, objects, over, started, withCode } from '../helpers.js';
import { globalOrder, settings, workersOf } from './helpers.js';

const invalid = withCode('TIERED_CONFIG_INVALID');
const otherWorkers = fc.integer({ min: 1, max: 9 });

/** Accesses by epoch and key, one a line, in an order of their own: to compare what several workers read. */
function named(accesses: Iterable<Pick<Access, 'epoch' | 'key'>>): string[] {
  return [...accesses].map(({ epoch, key }) => `epoch ${epoch}: ${key}`).sort();
}

/** What is left of a sequence from a state on. */
function leftOf(sequence: AccessSequence, { epoch, position, taken }: PrefetcherState): Access[] {
  const gone = new Set(taken.map((place) => place.join()));
  return [...sequence.from(epoch, position)].filter(
    (access) => !gone.has(`${access.epoch},${access.position}`),
  );
}

/** The sequence of each worker. */
function sequencesOf(sampler: Sampler): AccessSequence[] {
  return workersOf(sampler).map((worker) => samplerSequence(sampler, worker, keys(sampler.samples)));
}

/** What all workers have left from these states on. */
function allLeft(sampler: Sampler, states: readonly PrefetcherState[]): Access[] {
  return sequencesOf(sampler).flatMap((sequence, worker) =>
    leftOf(sequence, states[worker] as PrefetcherState),
  );
}

/** What comes in the global order after so many batches. */
function globalTail(
  sampler: GlobalBatchSampler,
  order: (epoch: number) => number[][],
  epoch: number,
  batches: number,
) {
  const tail: { epoch: number; key: string }[] = [];
  for (let e = epoch; e < sampler.epochs; e++) {
    const left = order(e).slice(e === epoch ? batches : 0);
    tail.push(...left.flat().map((sample) => ({ epoch: e, key: `${sample}` })));
  }
  return tail;
}

describe('a training that is resumed after some global batches', () => {
  it('[S2] reads, with any number of workers, exactly what was left, in the same global order', () => {
    fc.assert(
      fc.property(settings, otherWorkers, fc.nat(), fc.nat(), (options, workers, e, b) => {
        const [before, after] = [options.workers, workers].map((count) =>
          globalBatchSampler({ ...options, workers: count }),
        ) as [GlobalBatchSampler, GlobalBatchSampler];
        const epoch = e % (options.epochs + 1);
        const batches = epoch === options.epochs ? 0 : b % (before.batches + 1);
        const tail = globalTail(before, (at) => globalOrder(options, at), epoch, batches);
        for (const sampler of [before, after]) {
          const states = workersOf(sampler).map((worker) => sampler.stateAfter(worker, { epoch, batches }));
          expect(named(allLeft(sampler, states))).toEqual(named(tail));
        }
        const [single] = sequencesOf(globalBatchSampler({ ...options, workers: 1 }));
        const position = Math.min(batches * options.batchSize, single?.epochLength ?? 0);
        expect(
          [...(single?.from(epoch, position) ?? [])].map(({ epoch: at, key }) => ({ epoch: at, key })),
        ).toEqual(tail);
      }),
    );
  });

  it('cannot be where there is nothing', () => {
    const sampler = globalBatchSampler({ samples: 10, epochs: 2, seed: 1, workers: 3, batchSize: 4 });
    for (const [epoch, batches] of [
      [-1, 0],
      [3, 0],
      [2, 1],
      [0, 4],
      [0, -1],
      [0, 0.5],
    ] as const)
      expect(() => sampler.stateAfter(0, { epoch, batches }), `${epoch} ${batches}`).toThrow(invalid);
    expect(() => sampler.stateAfter(3, { epoch: 0, batches: 0 })).toThrow(invalid);
    expect(sampler.stateAfter(0, { epoch: 2, batches: 0 })).toMatchObject({ epoch: 2, position: 0 });
  });
});

/** Where a worker stopped: far it had come, and what it had taken behind that. */
const stops = fc.array(fc.record({ at: fc.nat(), taken: fc.array(fc.nat(300), { maxLength: 5 }) }), {
  minLength: 9,
  maxLength: 9,
});

/** A state as a prefetcher gives it: the first access it names is not taken. */
function stoppedAt(
  sequence: AccessSequence,
  stop: { readonly at: number; readonly taken: readonly number[] },
) {
  const { epochs, epochLength } = sequence;
  const total = epochs * epochLength;
  const first = total === 0 ? 0 : stop.at % (total + 1);
  const place = (access: number) => [Math.floor(access / epochLength), access % epochLength] as const;
  const [epoch, position] = first === total ? [epochs, 0] : place(first);
  const behind = new Set(stop.taken.map((ahead) => first + 1 + ahead).filter((access) => access < total));
  return {
    version: 1,
    epoch,
    position,
    taken: [...behind].map(place),
    early: {},
    epochs,
    epochLength,
  } as const;
}

describe('states of workers that stopped at different places', () => {
  it('are turned into those of any other number, which read exactly what was left, each once', async () => {
    await fc.assert(
      fc.asyncProperty(settings, otherWorkers, stops, async (options, workers, places) => {
        const from = globalBatchSampler(options);
        const to = globalBatchSampler({ ...options, workers });
        const states = sequencesOf(from).map((sequence, i) =>
          stoppedAt(sequence, places[i] ?? { at: 0, taken: [] }),
        );
        const resumed = await redistribute(states, { from, to, keys: keys(options.samples) });
        expect(resumed).toHaveLength(workers);
        expect(named(allLeft(to, resumed))).toEqual(named(allLeft(from, states)));
      }),
      { numRuns: 300 },
    );
  });

  it('are those of stateAfter, if the workers stopped in step', async () => {
    await fc.assert(
      fc.asyncProperty(settings, otherWorkers, fc.nat(), fc.nat(), async (options, workers, e, b) => {
        const from = globalBatchSampler(options);
        const to = globalBatchSampler({ ...options, workers });
        const checkpoint = { epoch: e % options.epochs, batches: b % (from.batches + 1) };
        const states = workersOf(from).map((worker) => from.stateAfter(worker, checkpoint));
        const resumed = await redistribute(states, { from, to, keys: keys(options.samples) });
        for (const [worker, state] of resumed.entries()) {
          const sequence = samplerSequence(to, worker, keys(options.samples));
          expect(state.taken).toEqual([]);
          expect(leftOf(sequence, state)).toEqual(leftOf(sequence, to.stateAfter(worker, checkpoint)));
        }
      }),
    );
  });

  it("of PyTorch's sampler lose no sample either, where it divides evenly", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(1000),
        fc.constantFrom(1, 2, 3, 4, 6, 8, 12),
        stops,
        async (seed, workers, places) => {
          const [from, to] = [4, workers].map((count) =>
            torchDistributedSampler({ samples: 24, epochs: 3, workers: count, seed }),
          ) as [Sampler, Sampler];
          const states = sequencesOf(from).map((sequence, i) =>
            stoppedAt(sequence, places[i] ?? { at: 0, taken: [] }),
          );
          const resumed = await redistribute(states, { from, to, keys: keys(24) });
          expect(named(allLeft(to, resumed))).toEqual(named(allLeft(from, states)));
        },
      ),
    );
  });

  it('[P6] are refused in another order, or with another seed or order of the keys, and so are those they become', async () => {
    const of = (workers: number, seed: number) =>
      globalBatchSampler({ samples: 40, epochs: 2, seed, workers, batchSize: 12 });
    const hierarchy = await over(await objects(Array.from({ length: 40 }, () => 10)));
    const states: PrefetcherState[] = [];
    for (const [worker, sequence] of sequencesOf(of(2, 1)).entries()) {
      const prefetcher = new Prefetcher(hierarchy, sequence);
      for (let taken = 0; taken < 3 + 9 * worker; taken++) await next(prefetcher);
      states.push(prefetcher.state());
      await prefetcher.close();
    }
    const good = { from: of(2, 1), to: of(3, 1), keys: keys(40) };
    const wrong = /^states\[[01]\]\.accesses: /;
    await expect(redistribute(states.toReversed(), good)).rejects.toThrow(wrong);
    await expect(redistribute(states, { ...good, from: of(2, 2), to: of(3, 2) })).rejects.toThrow(wrong);
    await expect(redistribute(states, { ...good, keys: keys(40).toReversed() })).rejects.toThrow(wrong);
    const resumed = await redistribute(states, good);
    const resume = (worker: number, sequence?: AccessSequence) => () =>
      new Prefetcher(hierarchy, sequence as AccessSequence, { resume: resumed[worker] as PrefetcherState });
    const [first, second] = sequencesOf(good.to);
    expect(resume(0, first)).not.toThrow();
    expect(resume(0, second)).toThrow(invalid);
    expect(resume(0, sequencesOf(of(3, 2))[0])).toThrow(invalid);
  });

  it('are refused where they cannot be resumed', async () => {
    const options = { samples: 10, epochs: 2, seed: 1, workers: 2, batchSize: 4 };
    const from = globalBatchSampler(options);
    const states = workersOf(from).map((worker) => from.stateAfter(worker, { epoch: 0, batches: 1 }));
    const [first] = states as [PrefetcherState];
    const good = { from, to: globalBatchSampler({ ...options, workers: 3 }), keys: keys(10) };
    await expect(redistribute(states, good)).resolves.toHaveLength(3);
    for (const [wrongStates, wrong] of [
      [[first], good],
      [[first, { ...first, epochs: 3 }], good],
      [[first, { ...first, epoch: 7 }], good],
      [states, { ...good, keys: keys(9) }],
      [states, { ...good, to: globalBatchSampler({ ...options, samples: 11 }) }],
      [states, { ...good, to: globalBatchSampler({ ...options, epochs: 3 }) }],
    ] as const)
      await expect(redistribute(wrongStates, wrong)).rejects.toEqual(invalid);
    const reason = new Error('enough');
    await expect(redistribute(states, { ...good, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

/** What one of the N workers does before it stops. */
const steps = fc.array(
  fc.array(fc.oneof(fc.record({ take: fc.integer({ min: 1, max: 5 }) }), fc.record({ name: fc.nat() })), {
    maxLength: 12,
  }),
  { minLength: 9, maxLength: 9 },
);

describe('prefetchers', () => {
  it('[S2] [P6] of N workers read a part, and those of M exactly the rest, whether taken in order or by name', async () => {
    await fc.assert(
      fc.asyncProperty(
        settings,
        otherWorkers,
        steps,
        fc.constantFrom(0, 256, 1e6),
        async (options, workers, plans, budget) => {
          const sizes = Array.from({ length: options.samples }, (_, i) => (i % 9) * 13);
          const hierarchy = await started(await objects(sizes));
          const from = globalBatchSampler(options);
          const to = globalBatchSampler({ ...options, workers });
          const left = new Map(named(sequencesOf(from).flatMap((s) => [...s])).map((name) => [name, 1]));
          const states: PrefetcherState[] = [];
          for (const [worker, sequence] of sequencesOf(from).entries()) {
            const prefetcher = new Prefetcher(hierarchy, sequence, { memory: budget, producers: 2 });
            const own = [...sequence];
            for (const step of plans[worker] ?? []) {
              if ('take' in step) {
                for (const sample of await prefetcher.take(step.take)) {
                  left.delete(`epoch ${sample.epoch}: ${sample.key}`);
                  own.splice(
                    own.findIndex(({ key, epoch }) => key === sample.key && epoch === sample.epoch),
                    1,
                  );
                  sample.release();
                }
              } else if (own.length > 0) {
                const { key } = own[step.name % own.length] as Access;
                await prefetcher.readInto(key, new Uint8Array(200));
                const [read] = own.splice(
                  own.findIndex((access) => access.key === key),
                  1,
                );
                left.delete(`epoch ${read?.epoch}: ${key}`);
              }
            }
            // What consumers by name left out, and was given up, counts as taken.
            fc.pre(prefetcher.stats().dropped === 0);
            states.push(JSON.parse(JSON.stringify(prefetcher.state())) as PrefetcherState);
            await prefetcher.close();
          }
          const resumed = await redistribute(states, { from, to, keys: keys(options.samples) });
          const rest: Access[] = [];
          for (const [worker, sequence] of sequencesOf(to).entries()) {
            const state = resumed[worker] as PrefetcherState;
            const samples = await collect(
              new Prefetcher(hierarchy, sequence, { memory: budget, resume: state }),
            );
            expect(samples).toMatchObject(leftOf(sequence, state));
            rest.push(...samples);
          }
          expect(named(rest)).toEqual([...left.keys()].sort());
          await hierarchy.close();
        },
      ),
      { numRuns: 100 },
    );
  });

  it('of N workers stop after some global batches, and those of M go on there', async () => {
    const options = { samples: 50, epochs: 2, seed: 7, batchSize: 12 };
    const hierarchy = await over(await objects(Array.from({ length: 50 }, () => 10)));
    const checkpoint = { epoch: 1, batches: 2 };
    const read: string[] = [];
    const before = globalBatchSampler({ ...options, workers: 5 });
    for (const [worker, sequence] of sequencesOf(before).entries()) {
      const prefetcher = new Prefetcher(hierarchy, sequence);
      const stop = before.stateAfter(worker, checkpoint);
      let samples = stop.epoch * stop.epochLength + stop.position;
      while (samples > 0) {
        const taken = await prefetcher.take(samples);
        samples -= taken.length;
        read.push(...named(taken));
      }
      expect(prefetcher.state()).toMatchObject(stop);
      await prefetcher.close();
    }
    const after = globalBatchSampler({ ...options, workers: 3 });
    for (const [worker, sequence] of sequencesOf(after).entries()) {
      const prefetcher = new Prefetcher(hierarchy, sequence, {
        resume: after.stateAfter(worker, checkpoint),
      });
      read.push(...named(await collect(prefetcher)));
    }
    const everything = [0, 1].flatMap((epoch) => keys(50).map((key) => ({ epoch, key })));
    expect(read.sort()).toEqual(named(everything));
  });
});
