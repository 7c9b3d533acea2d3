import { accessTables, rankSampler } from '@tiered/prefetch/sampling';
import { roomOf, sharedPlan, UNPLANNED, type ClusterPlan } from '@tiered/tiering/plans';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

interface Case {
  readonly samples: number;
  readonly workers: number;
  readonly epochs: number;
  /** Bytes of each of the levels of a worker. */
  readonly quotas: readonly number[];
  readonly seed: number;
}

/** What each worker reads in a training of these. */
async function tablesOf({ samples, workers, epochs, seed }: Case) {
  const sampler = rankSampler({ samples, epochs, seed, workers });
  return accessTables(
    sampler,
    Array.from({ length: workers }, (_, worker) => worker),
  );
}

async function planned(one: Case, sizes = new Float64Array(one.samples).fill(1)) {
  const tables = await tablesOf(one);
  const sharing = tables.map(({ frequency }, worker) => ({
    worker,
    frequency,
    rooms: one.quotas.map((quota) => roomOf(quota, sizes)),
  }));
  return { plan: sharedPlan(sharing, one.samples), tables };
}

const kept = (plan: ClusterPlan, samples: number) =>
  Array.from({ length: samples }, (_, sample) => plan.holders(sample));

const anyCase = fc.record({
  samples: fc.integer({ min: 1, max: 60 }),
  workers: fc.integer({ min: 1, max: 5 }),
  epochs: fc.integer({ min: 1, max: 6 }),
  quotas: fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 3 }),
  seed: fc.nat(1000),
});

describe('a shared plan', () => {
  it('keeps every sample somewhere before it keeps one twice', async () => {
    await fc.assert(
      fc.asyncProperty(anyCase, async (one) => {
        const { plan, tables } = await planned(one);
        const holders = kept(plan, one.samples);
        const isRead = (sample: number) => tables.some(({ frequency }) => frequency[sample] !== 0);
        const read = holders.filter((_, sample) => isRead(sample));
        const room = one.workers * one.quotas.reduce((sum, quota) => sum + quota, 0);
        expect(read.filter(({ length }) => length > 0)).toHaveLength(Math.min(room, read.length));
      }),
    );
  });

  it('holds the quotas of all levels, whatever the sizes', async () => {
    const cases = fc.tuple(
      anyCase,
      fc.array(fc.integer({ min: 0, max: 10 }), { minLength: 60, maxLength: 60 }),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ([one, sizes]) => {
        const { plan } = await planned(one, Float64Array.from(sizes));
        for (let worker = 0; worker < one.workers; worker++)
          for (const [level, quota] of one.quotas.entries()) {
            const levels = plan.planOf(worker) ?? new Uint8Array();
            const bytes = levels.reduce(
              (sum, at, sample) => sum + (at === level ? (sizes[sample] ?? 0) : 0),
              0,
            );
            expect(bytes).toBeLessThanOrEqual(quota);
          }
      }),
    );
  });

  it('keeps a sample where it is read most often, as long as there is room', async () => {
    const one = { samples: 1000, workers: 4, epochs: 20, quotas: [1000], seed: 3 };
    const { plan, tables } = await planned(one);
    for (let sample = 0; sample < one.samples; sample++) {
      const frequencies = tables.map(({ frequency }) => frequency[sample] ?? 0);
      const most = frequencies.indexOf(Math.max(...frequencies));
      expect(plan.levelOn(most, sample)).not.toBe(UNPLANNED);
    }
  });

  it('leaves nothing in the source if four workers have room for a quarter each, and shares the load', async () => {
    const one = { samples: 10_000, workers: 4, epochs: 3, quotas: [2_500], seed: 1 };
    const { plan, tables } = await planned(one);
    const holders = kept(plan, one.samples);
    expect(holders.every(({ length }) => length === 1)).toBe(true);
    const local = tables.map(({ frequency }, worker) =>
      Array.from(frequency).reduce(
        (sum, count, sample) => sum + (holders[sample]?.[0]?.worker === worker ? count : 0),
        0,
      ),
    );
    // A home drawn by lot has a quarter of the reads.
    const reads = one.samples * one.epochs;
    expect(local.reduce((sum, count) => sum + count) / reads).toBeGreaterThan(0.45);
    expect(Math.max(...local) / Math.min(...local)).toBeLessThan(1.1);
  });
});
