import { clusterPlan, fillOrder, frequencyPlan, homesOf, NO_HOME, UNPLANNED } from '@tiered/tiering/plans';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const samples = fc.uniqueArray(
  fc.record({ level: fc.constantFrom(0, 1, UNPLANNED), first: fc.nat(2 ** 32 - 2) }),
  {
    selector: ({ first }) => first,
    maxLength: 60,
  },
);

describe('fillOrder', () => {
  it('gives the planned samples of a level, or of all, as they are first read', () => {
    fc.assert(
      fc.property(samples, fc.constantFrom(0, 1, undefined), (all, level) => {
        const plan = Uint8Array.from(all, (one) => one.level);
        const first = Uint32Array.from(all, (one) => one.first);
        const expected = [...all.entries()]
          .filter(([, one]) => (level === undefined ? one.level !== UNPLANNED : one.level === level))
          .sort(([, a], [, b]) => a.first - b.first)
          .map(([sample]) => sample);
        expect([...fillOrder({ plan, first, level })]).toEqual(expected);
      }),
    );
  });
});

describe('clusterPlan', () => {
  const sizes = [10, 10, 10, 20];
  const accesses = [
    { worker: 3, frequency: [3, 1, 0, 2], first: [0, 1, 0, 2] },
    { worker: 1, frequency: [1, 2, 0, 3], first: [5, 3, 0, 0] },
  ];

  it('is the plan of each worker, whatever the order in which they are told', () => {
    const quotas = [20, 10];
    for (const told of [accesses, accesses.toReversed()]) {
      const cluster = clusterPlan({ accesses: told, sizes, quotas, savedMs: () => 1 });
      for (const { worker, frequency, first } of accesses) {
        const plan = frequencyPlan({ frequency, first, sizes, quotas, savedMs: () => 1 });
        expect(cluster.planOf(worker)).toEqual(plan);
        for (const [sample, level] of plan.entries()) expect(cluster.levelOn(worker, sample)).toBe(level);
      }
      expect(cluster.planOf(0)).toBeUndefined();
      expect([cluster.levelOn(0, 0), cluster.levelOn(1, 99)]).toEqual([UNPLANNED, UNPLANNED]);
    }
  });

  it('names those who hold a sample, the fastest first', () => {
    const cluster = clusterPlan({ accesses, sizes, quotas: [20, 10] });
    // Worker 3 has 0 and 1 in its fast level; worker 1 has 3 there, and 1 below.
    expect(cluster.holders(1)).toEqual([
      { worker: 3, level: 0 },
      { worker: 1, level: 1 },
    ]);
    expect(cluster.holders(3)).toEqual([{ worker: 1, level: 0 }]);
    expect(cluster.holders(2)).toEqual([]);
    const alike = clusterPlan({ accesses, sizes, quotas: [50] });
    expect(alike.holders(0).map(({ worker }) => worker)).toEqual([1, 3]);
  });

  it('has one home for each sample that is kept: a holder on the fastest level, all equally often', () => {
    const [workers, samples] = [6, 600];
    const [N, ALL] = [UNPLANNED, new Uint8Array(samples)];
    const plans: [number, Uint8Array][] = [
      [4, Uint8Array.of(1, 0, N, N)],
      [2, Uint8Array.of(0, 1, N, 1)],
    ];
    for (const told of [plans, plans.toReversed()])
      expect([...homesOf(told, { samples: 4, workers })]).toEqual([2, 4, NO_HOME, 2]);
    const alike = function* () {
      for (let worker = 0; worker < workers; worker++) yield [worker, ALL] as const;
    };
    const homes = homesOf(alike(), { samples, workers });
    for (let worker = 0; worker < workers; worker++)
      expect(homes.filter((home) => home === worker)).toHaveLength(samples / workers);
  });
});
