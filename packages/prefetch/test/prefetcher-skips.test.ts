import { FaultDriver, type FaultRule } from '@tiered/core/testing';
import {
  listSequence,
  Prefetcher,
  shuffledSequence,
  type Access,
  type Sample,
  type SkippedSample,
} from '@tiered/prefetch';
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
  settled,
  started,
  withCode,
} from './helpers.js';
import type { Copied } from './helpers.js';

const injected = withCode('TIERED_FAULT_INJECTED');
const SIZES = Array.from({ length: 20 }, (_, i) => 100 + i);

/** Faults in one operation on these objects. */
function faults(bad: readonly string[], operation: 'readInto' | 'stat' = 'readInto'): FaultRule[] {
  return bad.map((key) => ({
    operations: [operation],
    key: new RegExp(`^${key}$`),
    fault: { kind: 'fail' },
  }));
}

const setup = fc.record({
  /** An empty object needs no read, which then cannot fail. */
  sizes: fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 12 }),
  unreadable: fc.array(fc.nat(11), { maxLength: 4 }),
  unknown: fc.array(fc.nat(11), { maxLength: 4 }),
  missing: fc.array(fc.nat(11), { maxLength: 4 }),
  producers: fc.integer({ min: 1, max: 5 }),
  memory: fc.constantFrom(0, 640, 1e6),
  copy: fc.boolean(),
  /** 0: one by one; else in lists, of the whole or of one epoch. */
  batch: fc.nat(4),
  byEpoch: fc.boolean(),
  seed: fc.nat(100),
});

describe('a sample that cannot be read', () => {
  it('[P14] is left out, counted and told of, and all others come in order', async () => {
    await fc.assert(
      fc.asyncProperty(setup, async (there) => {
        const { sizes, unreadable, unknown, missing, batch, byEpoch, seed, ...options } = there;
        const memory = await objects(sizes);
        for (const i of new Set(missing)) if (i < sizes.length) await memory.delete(`${i}`, {});
        const rules = [...faults(unreadable.map(String)), ...faults(unknown.map(String), 'stat')];
        const hierarchy = await started(new FaultDriver(memory, { rules }));
        const sequence = shuffledSequence(keys(sizes.length), { seed, epochs: 2 });
        const told: SkippedSample[] = [];
        const prefetcher = new Prefetcher(hierarchy, sequence, {
          ...options,
          onError: 'skip',
          maxSkipped: 12,
          onSkip: (skipped) => told.push(skipped),
        });
        const seen: Copied[] = [];
        for (let epoch = 0; epoch < (byEpoch ? 2 : 1); epoch++) {
          const lists = byEpoch ? prefetcher.epochBatches(batch + 1) : prefetcher.batches(batch + 1);
          if (batch > 0) for await (const list of lists) seen.push(...list.map(copyOf));
          else seen.push(...(await collect(byEpoch ? prefetcher.epoch() : prefetcher)));
        }
        const isBad = ({ key }: Access) => [...unreadable, ...unknown, ...missing].includes(Number(key));
        expect(seen).toEqual(samplesOf(sequence, sizes).filter((access) => !isBad(access)));
        const bad = [...sequence].filter(isBad);
        expect(told).toEqual(bad.map((access) => expect.objectContaining({ ...access }) as unknown));
        expect(prefetcher.stats()).toMatchObject({ skipped: bad.length, samples: seen.length });
        expect(prefetcher.state()).toMatchObject({ epoch: 2, position: 0 });
        expectIdle(prefetcher);
        await hierarchy.close();
      }),
      { numRuns: 150 },
    );
  });

  it('[P14] is thrown at its position when as many were skipped in the epoch as is allowed', async () => {
    const bad = ['1', '3', '5', '12'];
    const hierarchy = await over(new FaultDriver(await objects(SIZES), { rules: faults(bad) }));
    const accesses = (key: string, i: number) => ({ key, epoch: Math.floor(i / 10), position: i % 10 });
    const read = (maxSkipped: number) => {
      const options = { onError: 'skip', maxSkipped, memory: 640 } as const;
      return new Prefetcher(hierarchy, keys(20).map(accesses), options);
    };
    expect(await collect(read(3)), 'three in one epoch, one in the next').toHaveLength(16);
    const prefetcher = read(2);
    for (const key of ['0', '2', '4']) expect((await next(prefetcher))?.key).toBe(key);
    await expect(next(prefetcher)).rejects.toEqual(injected);
    await expect(next(prefetcher)).rejects.toThrow(/2 samples of this epoch were skipped.*maxSkipped/);
    expect(prefetcher.stats().skipped).toBe(2);
    expectIdle(prefetcher);
  });

  it('[P14] counts anew where it is resumed, and begins with the one that was too many', async () => {
    const bad = ['1', '3', '5'];
    const hierarchy = await over(new FaultDriver(await objects(SIZES), { rules: faults(bad) }));
    const sequence = listSequence(keys(20));
    const first = new Prefetcher(hierarchy, sequence, { onError: 'skip', maxSkipped: 2 });
    await expect(collect(first)).rejects.toEqual(injected);
    expect(first.state()).toMatchObject({ epoch: 0, position: 5 });
    const options = { onError: 'skip', maxSkipped: 2, resume: first.state() } as const;
    expect(await collect(new Prefetcher(hierarchy, sequence, options))).toEqual(
      samplesOf(sequence, SIZES).slice(6),
    );
  });

  it('ends a training whose source is gone after ten', async () => {
    const rules: FaultRule[] = [
      { operations: ['stat', 'readInto'], fault: { kind: 'fail', code: 'TIERED_UNAVAILABLE' } },
    ];
    const hierarchy = await over(new FaultDriver(await objects(SIZES), { rules }));
    const prefetcher = new Prefetcher(hierarchy, listSequence(keys(20)), { onError: 'skip' });
    await expect(next(prefetcher)).rejects.toEqual(withCode('TIERED_UNAVAILABLE'));
    expect(prefetcher.stats().skipped).toBe(10);
  });

  it('ends the prefetcher with what its listener throws', async () => {
    const hierarchy = await over(new FaultDriver(await objects(SIZES), { rules: faults(['2']) }));
    const enough = new Error('enough');
    const onSkip = () => {
      throw enough;
    };
    const prefetcher = new Prefetcher(hierarchy, listSequence(keys(20)), { onError: 'skip', onSkip });
    await expect(collect(prefetcher)).rejects.toBe(enough);
    expect(prefetcher.stats().samples).toBe(2);
  });

  it('is refused as an option that says nothing', async () => {
    const hierarchy = await over(await objects(SIZES));
    const make = (options: object) => () => new Prefetcher(hierarchy, listSequence(keys(1)), options);
    expect(make({ onError: 'ignore' })).toThrow(/^onError: /);
    for (const maxSkipped of [0, 1.5, Infinity]) expect(make({ maxSkipped })).toThrow(/^maxSkipped: /);
  });
  it('[P14] is another thing than a sequence that throws, which ends it with that error', async () => {
    function* broken(): Generator<Access> {
      yield* [...listSequence(keys(5))];
      throw new Error('the sequence broke');
    }
    const skipped: SkippedSample[] = [];
    const prefetcher = new Prefetcher(await over(await objects(SIZES)), broken(), {
      onError: 'skip',
      onSkip: (sample) => skipped.push(sample),
    });
    const seen: string[] = [];
    const loop = async () => {
      for await (const { key } of prefetcher) seen.push(key);
    };
    await expect(loop()).rejects.toThrow('the sequence broke');
    expect({ seen, skipped }).toEqual({ seen: keys(5), skipped: [] });
    await prefetcher.close();
  });

  it('[P14] is told of once, also if who is told takes another one in its place', async () => {
    const rules = faults(['3']);
    const hierarchy = await over(new FaultDriver(await objects(SIZES), { rules }));
    const told: string[] = [];
    const replacements: Promise<string | undefined>[] = [];
    const prefetcher: Prefetcher = new Prefetcher(hierarchy, listSequence(keys(8)), {
      onError: 'skip',
      onSkip: ({ key }) => {
        told.push(key);
        replacements.push(next(prefetcher).then((sample) => sample?.key));
      },
    });
    await settled();
    const seen: (string | undefined)[] = [];
    for (let i = 0; i < 5; i++) seen.push((await next(prefetcher))?.key);
    seen.push(...(await Promise.all(replacements)), ...(await collect(prefetcher)).map(({ key }) => key));
    expect(told).toEqual(['3']);
    expect(seen.sort()).toEqual(keys(8).filter((key) => key !== '3'));
    await prefetcher.close();
    expectIdle(prefetcher);
  });

  it('[P14] is told of once, also if who is told takes another one and gives room for it', async () => {
    const hierarchy = await over(new FaultDriver(await objects([64, 64, 64]), { rules: faults(['1']) }));
    const told: string[] = [];
    const replaced: Promise<readonly string[]>[] = [];
    const held: Sample[] = [];
    const take = async () => (await prefetcher.take(1)).map(({ key }) => key);
    const prefetcher: Prefetcher = new Prefetcher(hierarchy, listSequence(keys(3)), {
      memory: 128,
      producers: 2,
      onError: 'skip',
      onSkip: ({ key }) => {
        told.push(key);
        replaced.push(take());
        held[0]?.release();
      },
    });
    held.push(...(await prefetcher.take(1)));
    await settled();
    const taken = [await take(), ...(await Promise.all(replaced))];
    expect({ told, taken: taken.flat() }).toEqual({ told: ['1'], taken: ['2'] });
    expect(prefetcher.stats()).toMatchObject({ skipped: 1, ready: 0, reading: 0 });
    await prefetcher.close();
  });
});

it('[P14] [P3] whoever is told of a skipped sample may abort or close', async () => {
  const reason = new Error('too many');
  for (const how of ['abort', 'close'] as const) {
    const hierarchy = await started(new FaultDriver(await objects(SIZES), { rules: faults(['1']) }));
    const abort = new AbortController();
    const prefetcher: Prefetcher = new Prefetcher(hierarchy, listSequence(keys(SIZES.length)), {
      signal: abort.signal,
      onError: 'skip',
      onSkip: () => {
        if (how === 'abort') abort.abort(reason);
        else void prefetcher.close();
      },
    });
    const read = collect(prefetcher);
    await (how === 'abort'
      ? expect(read).rejects.toBe(reason)
      : expect(read).rejects.toEqual(withCode('TIERED_CLOSED')));
    await prefetcher.close();
    expectIdle(prefetcher);
    await hierarchy.close();
  }
});
