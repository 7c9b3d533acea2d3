import { FaultDriver } from '@tiered/core/testing';
import {
  listSequence,
  Prefetcher,
  shuffledSequence,
  type Access,
  type AccessSequence,
  type PrefetcherState,
  type Sample,
} from '@tiered/prefetch';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { collect, copyOf, keys, next, objects, over, samplesOf, started, type Copied } from './helpers.js';

const reason = new Error('no longer wanted');
const SIZES = Array.from({ length: 10 }, (_, i) => 100 + i);

const endings = ['break', 'throw', 'abort', 'failure', 'close'] as const;

const setup = fc.record({
  sizes: fc.array(fc.nat(500), { minLength: 1, maxLength: 12 }),
  producers: fc.integer({ min: 1, max: 6 }),
  budget: fc.constantFrom(0, 640, 1e6),
  epochs: fc.integer({ min: 1, max: 3 }),
  seed: fc.nat(1000),
  /** 0: one by one; else in lists of so many. */
  batch: fc.nat(5),
  ending: fc.constantFrom(...endings),
  /** After so many samples or lists. */
  after: fc.nat(12),
});

/** Goes on in a new process, as it were: the state has been JSON. */
const kept = (prefetcher: Prefetcher) => JSON.parse(JSON.stringify(prefetcher.state())) as PrefetcherState;

describe('[P6] the state of a prefetcher that has ended', () => {
  it('is that of the last sample that a loop was given, whatever ended it', async () => {
    await fc.assert(
      fc.asyncProperty(setup, async ({ sizes, producers, budget, epochs, seed, batch, ending, after }) => {
        const memory = await objects(sizes);
        const sequence = shuffledSequence(keys(sizes.length), { seed, epochs });
        const bad = String(after % sizes.length);
        const rules =
          ending === 'failure' ? [{ key: new RegExp(`^${bad}$`), fault: { kind: 'fail' } } as const] : [];
        const hierarchy = await started(new FaultDriver(memory, { rules }));
        const controller = new AbortController();
        const { signal } = controller;
        const prefetcher = new Prefetcher(hierarchy, sequence, { producers, memory: budget, signal });
        const seen: Copied[] = [];
        let count = 0;
        const taken = async (samples: readonly Sample[]) => {
          seen.push(...samples.map(copyOf));
          expect(left(), 'in the loop').toEqual(await rest(memory, sequence, kept(prefetcher)));
          if (count++ < after) return false;
          if (ending === 'throw') throw reason;
          if (ending === 'abort') controller.abort(reason);
          if (ending === 'close') await prefetcher.close();
          return ending === 'break';
        };
        const left = () => samplesOf(sequence, sizes).slice(seen.length);
        const loop = async () => {
          if (batch > 0) {
            for await (const list of prefetcher.batches(batch)) if (await taken(list)) break;
          } else for await (const sample of prefetcher) if (await taken([sample])) break;
        };
        await loop().catch(() => undefined);
        expect(await rest(memory, sequence, kept(prefetcher))).toEqual(left());
        await prefetcher.close();
        expect(await rest(memory, sequence, kept(prefetcher)), 'when it is closed').toEqual(left());
        await hierarchy.close();
      }),
      { numRuns: 60 },
    );
  });

  it('is that of the samples taken by name too, and of what was resumed', async () => {
    const sequence = listSequence(keys(10), { epochs: 2 });
    const memory = await objects(SIZES);
    const first = new Prefetcher(await over(memory), sequence);
    await first.readInto('3', new Uint8Array(1000));
    await next(first);
    await first.close();
    const second = new Prefetcher(await over(memory), sequence, { resume: kept(first) });
    await next(second);
    await second.close();
    const left = samplesOf(sequence, SIZES).filter((_, i) => ![0, 1, 3].includes(i));
    expect(await rest(memory, sequence, kept(second))).toEqual(left);
  });

  it('is where it was resumed, if it was closed at once', async () => {
    const sequence = listSequence(keys(10), { epochs: 2 });
    const memory = await objects(SIZES);
    const first = new Prefetcher(await over(memory), sequence);
    for (let i = 0; i < 13; i++) await next(first);
    const state = kept(first);
    const second = new Prefetcher(await over(memory), sequence, { resume: state });
    await second.close();
    expect(kept(second)).toEqual(state);
    await first.close();
  });

  it('of a sequence that throws is behind the last access that it gave', async () => {
    const sequence = listSequence(keys(10), { epochs: 2 });
    const failing: AccessSequence = {
      epochs: 2,
      epochLength: 10,
      at: (epoch, position) => sequence.at(epoch, position),
      *from(epoch, position): IterableIterator<Access> {
        for (const access of sequence.from(epoch, position)) {
          if (access.epoch === 1 && access.position === 3) throw reason;
          yield access;
        }
      },
      [Symbol.iterator]: () => failing.from(0, 0),
    };
    const memory = await objects(SIZES);
    const prefetcher = new Prefetcher(await over(memory), failing);
    await expect(collect(prefetcher)).rejects.toBe(reason);
    expect(await rest(memory, sequence, kept(prefetcher))).toEqual(samplesOf(sequence, SIZES).slice(13));
    const again = new Prefetcher(await over(memory), failing, { resume: kept(prefetcher) });
    await expect(next(again)).rejects.toBe(reason);
    expect(kept(again)).toEqual(kept(prefetcher));
  });
});

/** What comes when it is resumed where nothing fails. */
async function rest(
  memory: Awaited<ReturnType<typeof objects>>,
  sequence: AccessSequence,
  state: PrefetcherState,
): Promise<Copied[]> {
  const hierarchy = await started(memory);
  const samples = await collect(new Prefetcher(hierarchy, sequence, { resume: state }));
  await hierarchy.close();
  return samples;
}
