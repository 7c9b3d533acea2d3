import { NO_HOME } from '@tiered/tiering/plans';
import { loadChecksum } from '@tiered/core/internal';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { MovedHomes, type HashOf, type Homes } from '../src/homes/homes.js';
import { PlanHomes } from '../src/homes/plan-homes.js';
import { RendezvousHomes } from '../src/homes/rendezvous.js';

const KEYS = Array.from({ length: 4_000 }, (_, i) => `train/n${i % 10}/image-${i}.jpg`);

let hashOf: HashOf;

beforeAll(async () => {
  const checksum = await loadChecksum();
  hashOf = (key) => checksum.text(key);
});

const upTo = (count: number) => Array.from({ length: count }, (_, rank) => rank);
const homesOf = (homes: Homes) => KEYS.map((key) => homes.of(key).at(-1));

function spread(homes: Homes): Map<number | undefined, number> {
  const counts = new Map<number | undefined, number>();
  for (const home of homesOf(homes)) counts.set(home, (counts.get(home) ?? 0) + 1);
  return counts;
}

const someRanks = fc.uniqueArray(fc.nat(2_000), { minLength: 1, maxLength: 12 });

describe('homes by hashing', () => {
  it('[Z5] are the same on all workers, in whatever order they have heard of each other', () => {
    fc.assert(
      fc.property(someRanks, fc.string(), (ranks, key) => {
        const [one, other] = [ranks, ranks.toReversed()].map((list) => new RendezvousHomes(list, hashOf));
        expect(other?.of(key)).toEqual(one?.of(key));
        expect(ranks).toContain(one?.of(key)[0]);
      }),
    );
  });

  it('[Z5] are spread evenly, whatever the ranks', () => {
    for (const ranks of [upTo(2), upTo(7), upTo(16), [3, 1_000, 4_096, 65_536]]) {
      const counts = spread(new RendezvousHomes(ranks, hashOf));
      const even = KEYS.length / ranks.length;
      // Within six standard deviations of a fair draw.
      const most = 6 * Math.sqrt(even);
      for (const rank of ranks) expect(Math.abs((counts.get(rank) ?? 0) - even)).toBeLessThan(most);
    }
  });

  it('[Z5] change for those objects alone that a worker gets or had', () => {
    fc.assert(
      fc.property(someRanks, fc.nat(2_000), (ranks, changed) => {
        const others = ranks.filter((rank) => rank !== changed);
        const [without, with_] = [others, [...others, changed]].map((list) =>
          homesOf(new RendezvousHomes(list, hashOf)),
        );
        with_?.forEach((home, i) => {
          if (home !== changed) expect(home).toBe(without?.[i]);
        });
      }),
      { numRuns: 20 },
    );
  });

  it('are nowhere without workers', () => {
    expect(new RendezvousHomes([], hashOf).of('key')).toEqual([]);
  });
});

describe('homes after changes', () => {
  const of = (workers: number) => new RendezvousHomes(upTo(workers), hashOf);

  it('[Z5] are asked after the former ones, the last one of those first, and each once', () => {
    const [oldest, former, present] = [of(3), of(4), of(5)];
    const moved = new MovedHomes([former, oldest], present);
    for (const key of KEYS) {
      const [first, second, home] = [former, oldest, present].map((homes) => homes.of(key)[0]);
      const others = [...new Set([first, second])].filter((rank) => rank !== home);
      expect(moved.of(key)).toEqual([...others, home]);
    }
  });

  it('[Z5] are the former ones alone for what has none any more', () => {
    const moved = new MovedHomes([of(3)], { of: () => [] });
    for (const key of KEYS) expect(moved.of(key)).toEqual(of(3).of(key));
  });
});

describe('homes by plan', () => {
  const homes = Uint16Array.of(3, NO_HOME);
  const planOf = (sample: number | undefined) => new PlanHomes({ homes, sampleOf: () => sample });

  it('[Z5] are those of the plan', () => {
    expect(planOf(0).of('key')).toEqual([3]);
  });

  it('are nowhere for what nobody keeps, and for objects that are in no plan', () => {
    for (const sample of [1, 2, undefined]) expect(planOf(sample).of('key')).toEqual([]);
  });
});
