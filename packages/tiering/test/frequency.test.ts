import { MemoryDriver, Random } from '@tiered/core';
import { firstFit, frequency } from '@tiered/tiering';
import { frequencyPlan, UNPLANNED } from '@tiered/tiering/plans';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf, startHierarchy } from './helpers.js';

const sizes = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 40 });
const quotas = fc.array(fc.integer({ min: 50, max: 400 }), { minLength: 1, maxLength: 3 });

/** One worker reads every sample once an epoch; the first epoch decides. */
function oneWorker(
  samples: number,
  epochs: number,
  seed: number,
): { frequency: Uint8Array; first: Uint32Array } {
  const first = new Uint32Array(samples);
  for (const [position, sample] of new Random(seed).permutation(samples).entries()) first[sample] = position;
  return { frequency: new Uint8Array(samples).fill(epochs), first };
}

const byFirst = (first: Uint32Array) => [...first.keys()].sort((a, b) => (first[a] ?? 0) - (first[b] ?? 0));

describe('frequencyPlan', () => {
  it('is what first fit does in order of access, with one worker', () => {
    fc.assert(
      fc.property(sizes, quotas, fc.nat(), fc.integer({ min: 1, max: 90 }), (all, levels, seed, epochs) => {
        const { frequency: table, first } = oneWorker(all.length, epochs, seed);
        const rooms = levels.map((freeBytes, level) => ({ level, quotaBytes: freeBytes, freeBytes }));
        const expected = all.map(() => UNPLANNED);
        for (const sample of byFirst(first)) {
          const size = all[sample] ?? 0;
          const level = firstFit.place({ key: String(sample), size, chunkBytes: size }, rooms);
          const room = level === undefined ? undefined : rooms[level];
          if (level === undefined || room === undefined) continue;
          expected[sample] = level;
          room.freeBytes -= size;
        }
        expect([...frequencyPlan({ frequency: table, first, sizes: all, quotas: levels })]).toEqual(expected);
      }),
    );
  });

  it('never leaves a sample out for one that is read less often, where all are alike', () => {
    const counts = fc.array(fc.nat(6), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(counts, quotas, (table, levels) => {
        let accesses = 0;
        const first = table.map((count) => (count === 0 ? 0 : (accesses += count) - count));
        const plan = frequencyPlan({ frequency: table, first, sizes: table.map(() => 10), quotas: levels });
        for (const [a, levelA] of plan.entries()) {
          for (const [b, levelB] of plan.entries())
            if ((table[a] ?? 0) > (table[b] ?? 0)) expect(levelA).toBeLessThanOrEqual(levelB);
        }
        for (const [level, quota] of levels.entries())
          expect(plan.filter((one) => one === level).length * 10).toBeLessThanOrEqual(quota);
      }),
    );
  });

  it('has no place for what is never read, and takes the earlier of two that are read equally often', () => {
    const tables = { frequency: [2, 0, 3, 2], first: [4, 0, 1, 0] };
    expect([...frequencyPlan({ ...tables, sizes: [10, 10, 10, 10], quotas: [10, 10] })]).toEqual([
      UNPLANNED,
      UNPLANNED,
      0,
      1,
    ]);
  });

  it('refuses more levels than a byte can name', () => {
    const quotasOf256 = Array.from({ length: 256 }, () => 1);
    expect(() => frequencyPlan({ frequency: [], first: [], sizes: [], quotas: quotasOf256 })).toThrow(
      expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }),
    );
  });
});

describe('frequency', () => {
  it('places in a hierarchy what its plan says, and nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, quotas, fc.nat(), async (all, levels, seed) => {
        const random = new Random(seed);
        const table = all.map(() => random.below(4));
        let accesses = 0;
        const first = table.map((count) => (accesses += count) - count);
        const plan = frequencyPlan({ frequency: table, first, sizes: all, quotas: levels });
        const policy = frequency({ plan, sampleOf: Number });
        const tiers = levels.map((quota) => ({ driver: new MemoryDriver(), quota }));
        const hierarchy = await startHierarchy(await memoryWith(objectsOf(all)), tiers, {
          policy,
          chunk: 50,
        });
        for (const sample of random.permutation(all.length)) await hierarchy.read(String(sample));
        await hierarchy.idle();
        for (const [sample, level] of plan.entries())
          expect(await hierarchy.place(String(sample))).toBe(level === UNPLANNED ? levels.length : level);
        await hierarchy.close();
      }),
      { numRuns: 30 },
    );
  });

  it('leaves in the source what the plan does not know, and what has no room on its level', () => {
    const policy = frequency({ plan: Uint8Array.of(1), sampleOf: (key) => (key === 'a' ? 0 : undefined) });
    const rooms = [0, 1].map((level) => ({ level, quotaBytes: 100, freeBytes: 10 }));
    const object = { key: 'a', size: 10, chunkBytes: 10 };
    expect(policy.place(object, rooms)).toBe(1);
    expect(policy.place({ ...object, key: 'b' }, rooms)).toBeUndefined();
    expect(policy.place({ ...object, size: 11 }, rooms)).toBeUndefined();
    expect(policy.place(object, rooms.slice(0, 1))).toBeUndefined();
  });
});
