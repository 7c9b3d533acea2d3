import { accessTables, rankSampler } from '@tiered/prefetch/sampling';
import { NO_HOME, roomOf, sharedPlan, SharedReads, UNPLANNED, type SharedPlan } from '@tiered/tiering/plans';
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

/** The plan of a training of these, with the plans of all workers, and what each worker reads. */
async function planned(one: Case, sizes = new Float64Array(one.samples).fill(1), shown = one.workers) {
  const { samples, workers, epochs, seed, quotas } = one;
  const sampler = rankSampler({ samples, epochs, seed, workers });
  const all = Array.from({ length: workers }, (_, worker) => worker);
  const reads = new SharedReads({ samples, workers, plansFor: all.slice(0, shown) });
  for (let epoch = 0; epoch < epochs; epoch++)
    for (const worker of all) reads.add(worker, sampler.epoch(worker, epoch));
  const rooms = all.map(() => quotas.map((quota) => roomOf(quota, sizes)));
  return { plan: sharedPlan({ reads, rooms, sizes }), tables: await accessTables(sampler, all) };
}

/** The workers that keep a sample. */
const holders = (plan: SharedPlan, sample: number, workers: number) =>
  Array.from({ length: workers }, (_, worker) => worker).filter(
    (worker) => (plan.planOf(worker)?.[sample] ?? UNPLANNED) !== UNPLANNED,
  );

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
        const isRead = (_: number, sample: number) => tables.some(({ frequency }) => frequency[sample] !== 0);
        const read = plan.homes.filter(isRead);
        const room = one.workers * one.quotas.reduce((sum, quota) => sum + quota, 0);
        expect(read.filter((home) => home !== NO_HOME)).toHaveLength(Math.min(room, read.length));
        for (const [sample, home] of plan.homes.entries())
          if (home !== NO_HOME) expect(holders(plan, sample, one.workers)).toContain(home);
          else expect(holders(plan, sample, one.workers)).toEqual([]);
      }),
    );
  });

  it('[Z5] has the same homes on all workers, whose own plans they make themselves', async () => {
    await fc.assert(
      fc.asyncProperty(anyCase, async (one) => {
        const [{ plan: all }, { plan: first }] = [await planned(one), await planned(one, undefined, 1)];
        expect(first.homes).toEqual(all.homes);
        expect(first.planOf(0)).toEqual(all.planOf(0));
        expect(first.planOf(1)).toBeUndefined();
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
      expect(plan.planOf(most)?.[sample]).not.toBe(UNPLANNED);
    }
  });

  it('leaves nothing in the source if four workers have room for a quarter each, and shares the load', async () => {
    const one = { samples: 10_000, workers: 4, epochs: 3, quotas: [2_500], seed: 1 };
    const { plan, tables } = await planned(one);
    expect(plan.homes).not.toContain(NO_HOME);
    const local = tables.map(({ frequency }, worker) =>
      Array.from(frequency).reduce(
        (sum, count, sample) => sum + (plan.homes[sample] === worker ? count : 0),
        0,
      ),
    );
    // A home drawn by lot has a quarter of the reads.
    const reads = one.samples * one.epochs;
    expect(local.reduce((sum, count) => sum + count) / reads).toBeGreaterThan(0.45);
    expect(Math.max(...local) / Math.min(...local)).toBeLessThan(1.1);
  });
});
