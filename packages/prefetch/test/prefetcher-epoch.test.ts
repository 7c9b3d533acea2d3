import { FaultDriver } from '@tiered/core/testing';
import { listSequence, Prefetcher, shuffledSequence, type Access } from '@tiered/prefetch';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  collect,
  copyOf,
  expectIdle,
  keys,
  next,
  objects,
  over,
  samplesOf,
  started,
  withCode,
} from './helpers.js';
import type { Copied } from './helpers.js';

const SIZES = Array.from({ length: 6 }, (_, i) => 100 + i);

async function* streamed(accesses: Iterable<Access>): AsyncIterableIterator<Access> {
  yield* accesses;
}

const setup = fc.record({
  sizes: fc.array(fc.nat(300), { maxLength: 8 }),
  producers: fc.integer({ min: 1, max: 4 }),
  memory: fc.constantFrom(0, 640, 1e6),
  epochs: fc.integer({ min: 1, max: 4 }),
  seed: fc.nat(100),
  /** 0: one by one. */
  batch: fc.nat(4),
  consumers: fc.integer({ min: 1, max: 3 }),
  /** How many samples or lists each loop takes before it is left. */
  most: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 10 }),
  isStream: fc.boolean(),
});

describe('one epoch of a prefetcher', () => {
  it('[P13] ends where the epoch ends, and leaves what comes after it, and what it was left before, to others', async () => {
    await fc.assert(
      fc.asyncProperty(
        setup,
        async ({ sizes, batch, consumers, most, isStream, seed, epochs, ...options }) => {
          const sequence = shuffledSequence(keys(sizes.length), { seed, epochs });
          const hierarchy = await started(await objects(sizes));
          const prefetcher = new Prefetcher(hierarchy, isStream ? streamed(sequence) : sequence, options);
          const seen: Copied[] = [];
          let turn = 0;
          const loop = async () => {
            const part: Copied[] = [];
            let left = most[turn++ % most.length] ?? 1;
            if (batch > 0) {
              for await (const list of prefetcher.epochBatches(batch)) {
                part.push(...list.map(copyOf));
                if (--left === 0) break;
              }
            } else {
              for await (const sample of prefetcher.epoch()) {
                part.push(copyOf(sample));
                if (--left === 0) break;
              }
            }
            expect(new Set(part.map(({ epoch }) => epoch)).size).toBeLessThanOrEqual(1);
            seen.push(...part);
            return part.length;
          };
          for (;;) {
            const counts = await Promise.all(Array.from({ length: consumers }, loop));
            if (counts.every((count) => count === 0)) break;
          }
          const place = ({ epoch, position }: Access) => epoch * sizes.length + position;
          expect(seen.sort((a, b) => place(a) - place(b))).toEqual(samplesOf(sequence, sizes));
          expectIdle(prefetcher);
          await hierarchy.close();
        },
      ),
      { numRuns: 150 },
    );
  });

  it('is the whole of it for all who begin together, and the next for whoever comes after them', async () => {
    const sequence = listSequence(keys(6), { epochs: 2 });
    const prefetcher = new Prefetcher(await over(await objects(SIZES)), sequence);
    const expected = samplesOf(sequence, SIZES);
    const late = prefetcher.epoch();
    expect(await collect(prefetcher.epoch())).toEqual(expected.slice(0, 6));
    expect(await collect(late), 'it was asked for in epoch 0').toEqual([]);
    expect(await collect(prefetcher.epoch())).toEqual(expected.slice(6));
    expect(await collect(prefetcher.epoch())).toEqual([]);
  });

  it('is not failed by the first sample of the next one', async () => {
    const keysOf = ['0', '1', 'bad'];
    const rules = [{ key: /^bad$/, fault: { kind: 'fail' } as const }];
    const source = new FaultDriver(await objects(SIZES), { rules });
    const accesses = keysOf.map((key, i) => ({ key, epoch: Math.floor(i / 2), position: i % 2 }));
    const prefetcher = new Prefetcher(await over(source), accesses);
    expect(await collect(prefetcher.epoch())).toHaveLength(2);
    await expect(collect(prefetcher.epoch())).rejects.toEqual(withCode('TIERED_FAULT_INJECTED'));
  });

  it('lets another prefetcher validate in between, and a state be taken', async () => {
    const sequence = shuffledSequence(keys(6), { seed: 1, epochs: 3 });
    const hierarchy = await over(await objects(SIZES));
    const prefetcher = new Prefetcher(hierarchy, sequence);
    const seen: Copied[] = [];
    for (let epoch = 0; epoch < 3; epoch++) {
      seen.push(...(await collect(prefetcher.epoch())));
      expect(prefetcher.state()).toMatchObject({ epoch: epoch + 1, position: 0 });
      expect(await collect(new Prefetcher(hierarchy, listSequence(keys(6))))).toHaveLength(6);
    }
    expect(seen).toEqual(samplesOf(sequence, SIZES));
  });
});

describe('the error of a prefetcher that is closed', () => {
  const make = async () => new Prefetcher(await over(await objects(SIZES)), listSequence(keys(6)));

  it('says that a loop was left, and what to do instead', async () => {
    const prefetcher = await make();
    for await (const { position } of prefetcher) if (position === 2) break;
    await expect(next(prefetcher)).rejects.toThrow(/loop over it was left .*epoch\(\)/);
    await prefetcher.close();
    await expect(collect(prefetcher.epoch())).rejects.toThrow(/loop over it was left/);
  });

  it('says that close was called', async () => {
    const prefetcher = await make();
    await prefetcher.close();
    await expect(next(prefetcher)).rejects.toThrow(/closed by close\(\)/);
  });
});
