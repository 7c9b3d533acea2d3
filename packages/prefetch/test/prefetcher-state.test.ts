import {
  listSequence,
  Prefetcher,
  shuffledSequence,
  type AccessSequence,
  type PrefetcherState,
} from '@tiered/prefetch';
import { globalBatchSampler, samplerSequence } from '@tiered/prefetch/sampling';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fingerprintOf } from '../src/sequence/fingerprint.js';
import {
  collect,
  keys,
  listenersOn,
  next,
  objects,
  over,
  samplesOf,
  settled,
  started,
  withCode,
  type Copied,
} from './helpers.js';

const setup = fc.record({
  sizes: fc.array(fc.nat(500), { maxLength: 15 }),
  producers: fc.integer({ min: 1, max: 6 }),
  budget: fc.constantFrom(0, 640, 1e6),
  epochs: fc.integer({ min: 1, max: 3 }),
  seed: fc.nat(1000),
  /** What is done before the state is taken: the next samples, or one by name. */
  before: fc.array(
    fc.oneof(fc.record({ take: fc.integer({ min: 1, max: 4 }) }), fc.record({ name: fc.nat() })),
    {
      maxLength: 25,
    },
  ),
});

describe('a prefetcher that is resumed', () => {
  it.each([true, false])('[P6] may have been aborted by then: before it was made %j', async (isBefore) => {
    const hierarchy = await over(await objects([10, 10, 10]));
    const sequence = listSequence(keys(3));
    const first = new Prefetcher(hierarchy, sequence);
    await next(first);
    const state = first.state();
    await first.close();
    const controller = new AbortController();
    const reason = new Error('no longer wanted');
    if (isBefore) controller.abort(reason);
    const { signal } = controller;
    const second = new Prefetcher(hierarchy, sequence, { signal, resume: state });
    controller.abort(reason);
    await expect(next(second)).rejects.toBe(reason);
    expect(second.state()).toEqual(state);
    expect(listenersOn(signal)).toBe(0);
    await second.close();
  });

  it('[P6] gives exactly the samples that were left, in the same order, with any number of producers', async () => {
    await fc.assert(
      fc.asyncProperty(setup, fc.integer({ min: 1, max: 6 }), async (there, producersLater) => {
        const { sizes, producers, budget, epochs, seed } = there;
        const hierarchy = await started(await objects(sizes));
        const sequence = shuffledSequence(keys(sizes.length), { seed, epochs });
        const left = samplesOf(sequence, sizes);
        const first = new Prefetcher(hierarchy, sequence, { producers, memory: budget });
        for (const step of there.before) {
          if ('take' in step) {
            const samples = await first.take(step.take);
            // What consumers by name left out, and was given up, counts as taken.
            fc.pre(first.stats().dropped === 0);
            for (const { key, epoch, position } of samples)
              expect(left.shift()).toMatchObject({ key, epoch, position });
            for (const sample of samples) sample.release();
          } else if (left.length > 0) {
            const { key } = left[step.name % left.length] as Copied;
            const size = sizes[Number(key)] ?? 0;
            await first.readInto(key, new Uint8Array(size + 1));
            left.splice(
              left.findIndex((sample) => sample.key === key),
              1,
            );
          }
        }
        fc.pre(first.stats().dropped === 0);
        const state = JSON.parse(JSON.stringify(first.state())) as PrefetcherState;
        await first.close();
        const second = new Prefetcher(hierarchy, sequence, {
          producers: producersLater,
          memory: budget,
          resume: state,
        });
        expect(await collect(second)).toEqual(left);
        await hierarchy.close();
      }),
      { numRuns: 200 },
    );
  });

  it('at the end has nothing left', async () => {
    const sequence = listSequence(keys(2));
    const hierarchy = await over(await objects([1, 2]));
    const first = new Prefetcher(hierarchy, sequence);
    await collect(first);
    expect(first.state()).toMatchObject({ epoch: 1, position: 0, taken: [] });
    expect(await next(new Prefetcher(hierarchy, sequence, { resume: first.state() }))).toBeUndefined();
  });

  it('[P6] goes on with epochs that are added, also where it had ended', async () => {
    const names = keys(3);
    const hierarchy = await over(await objects([1, 2, 3]));
    const withEpochs = (epochs: number) => shuffledSequence(names, { seed: 1, epochs });
    const whole = await collect(new Prefetcher(hierarchy, withEpochs(5)));
    for (const taken of [0, 1, 4, 6]) {
      const first = new Prefetcher(hierarchy, withEpochs(2));
      for (let i = 0; i < taken; i++) await next(first);
      const state = JSON.parse(JSON.stringify(first.state())) as PrefetcherState;
      const second = new Prefetcher(hierarchy, withEpochs(5), { resume: state });
      expect(await collect(second), `after ${taken}`).toEqual(whole.slice(taken));
      expect(() => new Prefetcher(hierarchy, withEpochs(1), { resume: state })).toThrow(
        'resume.epochs: expected 1 to 1, the epochs of the sequence, got 2',
      );
    }
  });

  const sequences = fc.record({
    names: fc.array(fc.constantFrom('a', 'b', 'c', 'a","b'), { minLength: 1, maxLength: 6 }),
    seed: fc.nat(3),
    epochs: fc.integer({ min: 1, max: 2 }),
  });

  it('[P6] is refused where another sequence reads anything else, and only there', async () => {
    const hierarchy = await over(await objects([]));
    await fc.assert(
      fc.asyncProperty(sequences, sequences, async (one, two) => {
        const [a, b] = [shuffledSequence(one.names, one), shuffledSequence(two.names, two)];
        const state = JSON.parse(JSON.stringify(new Prefetcher(hierarchy, a).state())) as PrefetcherState;
        const resume = () => new Prefetcher(hierarchy, b, { resume: state });
        const beginning = [...b].slice(0, [...a].length);
        const isSame =
          a.epochLength === b.epochLength && JSON.stringify([...a]) === JSON.stringify(beginning);
        if (isSame) expect(resume).not.toThrow();
        else expect(resume).toThrow(withCode('TIERED_CONFIG_INVALID'));
      }),
      { numRuns: 300 },
    );
  });

  it('[P6] is refused with another seed, dataset or worker, also where an epoch is long and another than the first', async () => {
    const hierarchy = await over(await objects([]));
    const names = keys(20_000);
    const state = {
      ...new Prefetcher(hierarchy, shuffledSequence(names, { seed: 1, epochs: 3 })).state(),
      epoch: 2,
    };
    const at = (sequence: AccessSequence) =>
      JSON.parse(JSON.stringify({ ...state, accesses: fingerprintOf(sequence, 2) })) as PrefetcherState;
    const resume = (kept: PrefetcherState, sequence: AccessSequence) => () =>
      new Prefetcher(hierarchy, sequence, { resume: kept });
    const kept = at(shuffledSequence(names, { seed: 1, epochs: 3 }));
    expect(resume(kept, shuffledSequence(names, { seed: 1, epochs: 3 }))).not.toThrow();
    expect(resume(kept, shuffledSequence(names, { seed: 1, epochs: 90 })), 'more epochs').not.toThrow();
    const others = names.map((name) => `other/${name}`);
    for (const other of [
      shuffledSequence(names, { seed: 2, epochs: 3 }),
      shuffledSequence(names.toReversed(), { seed: 1, epochs: 3 }),
      shuffledSequence(others, { seed: 1, epochs: 3 }),
      listSequence(names, { epochs: 3 }),
      shuffledSequence(names, { seed: 2, epochs: 90 }),
    ])
      expect(resume(kept, other)).toThrow(withCode('TIERED_CONFIG_INVALID'));
    const samples = 2 * names.length;
    const sampler = globalBatchSampler({ samples, epochs: 3, seed: 1, workers: 2, batchSize: 16 });
    const first = samplerSequence(sampler, 0, keys(samples));
    const second = samplerSequence(sampler, 1, keys(samples));
    expect(resume(at(first), first)).not.toThrow();
    expect(resume(at(first), second)).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });

  it('[P6] gives what a rescan has found changed, though the one before it had read that ahead', async () => {
    const memory = await objects([3, 3, 3]);
    const sequence = listSequence(keys(3), { epochs: 2 });
    const hierarchy = await over(memory, { scan: true });
    const first = new Prefetcher(hierarchy, sequence);
    await collect(first.epoch());
    while (first.stats().ready < 3) await settled();
    const changed = Uint8Array.of(7, 7, 7, 7);
    await memory.write('1', changed, { size: 4 });
    await hierarchy.rescan();
    const state = first.state();
    const ahead = await collect(first);
    expect(ahead, 'it goes on with what it had').toEqual(samplesOf(sequence, [3, 3, 3]).slice(3));
    const second = await collect(new Prefetcher(hierarchy, sequence, { resume: state }));
    expect(second.map(({ data }) => data)).toEqual([ahead[0]?.data, changed, ahead[2]?.data]);
  });

  it('is refused where it cannot be the same', async () => {
    const hierarchy = await over(await objects([1, 2]));
    const sequence = listSequence(keys(2));
    const state = new Prefetcher(hierarchy, sequence).state();
    const invalid = withCode('TIERED_CONFIG_INVALID');
    const resume = (wrong: object) => () =>
      new Prefetcher(hierarchy, sequence, { resume: { ...state, ...wrong } });
    for (const wrong of [
      { version: 2 },
      { epochs: 7 },
      { epochLength: 3 },
      { epoch: 9 },
      { position: -1 },
      { taken: [[0]] },
      { taken: 'none' },
      { early: { a: -1 } },
      { early: null },
      { accesses: '' },
      { accesses: 7 },
    ])
      expect(resume(wrong), JSON.stringify(wrong)).toThrow(invalid);
    for (const none of [null, 7, 'state'])
      expect(() => new Prefetcher(hierarchy, sequence, { resume: none as never })).toThrow(invalid);
    expect(() => new Prefetcher(hierarchy, [...sequence]).state()).toThrow(invalid);
    expect(() => new Prefetcher(hierarchy, [...sequence], { resume: state })).toThrow(invalid);
  });
});
