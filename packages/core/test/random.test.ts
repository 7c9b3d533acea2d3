import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Random } from '@tiered/core';
// Not exported from the package; what is below `Random` has reference vectors of its own.
import { splitMix64, Xoshiro128 } from '../src/support/random.js';
import { withCode } from './helpers.js';

/*
 * The vectors and the golden permutations are the output of a C program made of the two public-domain
 * algorithms (splitmix64.c and xoshiro128starstar.c 1.1 of https://prng.di.unimi.it), not of the code under
 * test:
 *
 * uint64_t splitmix() { uint64_t z = (x += 0x9e3779b97f4a7c15);
 *     z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9; z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
 *     return z ^ (z >> 31); }
 * uint32_t next() { uint32_t result = rotl(s[1] * 5, 7) * 9, t = s[1] << 9; s[2] ^= s[0]; s[3] ^= s[1];
 *     s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = rotl(s[3], 11); return result; }
 * void seed(uint64_t seed, uint64_t stream) { x = seed; x = splitmix() + stream; uint64_t a = splitmix(),
 *     b = splitmix(); s[0] = a; s[1] = a >> 32; s[2] = b; s[3] = b >> 32; }
 * uint32_t below(uint64_t n) { uint32_t mask = 0, v; while (mask < n - 1) mask = mask * 2 + 1;
 *     do v = next() & mask; while (v >= n); return v; }
 * for (j = n - 1; j > 0; j--) { k = below(j + 1); swap(&p[j], &p[k]); }
 *
 * with a main() that prints, by: gcc -O2 -o reference reference.c && ./reference
 */
const SPLITMIX64: readonly [bigint, readonly bigint[]][] = [
  [0n, [16294208416658607535n, 7960286522194355700n, 487617019471545679n, 17909611376780542444n]],
  [1234567n, [6457827717110365317n, 3203168211198807973n, 9817491932198370423n, 4593380528125082431n]],
  [
    2n ** 64n - 1n,
    [16490336266968443936n, 16834447057089888969n, 4048727598324417001n, 7862637804313477842n],
  ],
];

type Words = readonly [number, number, number, number];
const XOSHIRO128: readonly [Words, readonly number[]][] = [
  [
    [1, 2, 3, 4],
    [11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849, 3729100597, 4258142804],
  ],
  [
    [0xffffffff, 0x80000000, 0x7fffffff, 0xdeadbeef],
    [576, 0, 3132615403, 2244191479, 2810454425, 3998506871, 2272547814, 4146359208, 2059865046, 586816518],
  ],
];

/** Seed, stream, permutation. Checkpoints depend on these: they must never change. */
const GOLDEN: readonly [number, number, readonly number[]][] = [
  [0, 0, [8, 10, 2, 14, 1, 5, 4, 13, 0, 6, 15, 12, 11, 7, 3, 9]],
  [0, 1, [7, 4, 13, 2, 9, 6, 5, 12, 3, 14, 11, 15, 0, 8, 1, 10]],
  [1, 0, [5, 4, 11, 12, 14, 2, 8, 7, 13, 0, 15, 10, 6, 9, 1, 3]],
  [42, 3, [1, 11, 19, 13, 2, 5, 14, 18, 0, 15, 9, 8, 10, 12, 6, 4, 3, 7, 16, 17]],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, [6, 1, 9, 4, 7, 0, 2, 8, 5, 3]],
];

const times = <T>(n: number, draw: () => T): T[] => Array.from({ length: n }, draw);
const seeds = fc.maxSafeNat();

/** Chi-square of how often each of `bins` outcomes came in `draws`. */
function chiSquare(bins: number, draws: number, draw: () => number): number {
  const counts = new Uint32Array(bins);
  for (let i = 0; i < draws; i++) {
    const outcome = draw();
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  const expected = draws / bins;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

describe('the reference algorithms', () => {
  it.each(SPLITMIX64)('SplitMix64 from %d gives the numbers of the reference', (seed, outputs) => {
    expect(splitMix64(seed, outputs.length)).toEqual(outputs);
  });

  it.each(XOSHIRO128)('xoshiro128** 1.1 from %j gives the numbers of the reference', (state, outputs) => {
    const generator = new Xoshiro128(...state);
    expect(times(outputs.length, () => generator.next())).toEqual(outputs);
  });

  it('xoshiro128** 1.1 agrees with the reference after a million numbers', () => {
    const generator = new Xoshiro128(1, 2, 3, 4);
    for (let i = 1; i < 1_000_000; i++) generator.next();
    expect(generator.next()).toBe(3457443141);
  });
});

describe('Random', () => {
  it('gives the numbers of the reference', () => {
    const [random, again] = [new Random(42), new Random(42, 0)];
    const outputs = [1552505907, 4113083374, 3991650357, 132206321, 2245463392, 3109436508];
    expect(times(6, () => random.uint32())).toEqual(outputs);
    expect(times(6, () => again.unit())).toEqual(outputs.map((output) => output / 2 ** 32));
    const bounded = new Random(42);
    expect(times(6, () => bounded.below(10))).toEqual([3, 5, 1, 0, 2, 3]);
  });

  it.each(GOLDEN)('the permutation of seed %d, stream %d never changes', (seed, stream, order) => {
    expect([...new Random(seed, stream).permutation(order.length)]).toEqual(order);
  });

  it('a long permutation never changes', () => {
    const order = new Random(7, 2).permutation(1000);
    expect(order.reduce((hash, index) => (hash * 31 + index) % 1_000_000_007, 0)).toBe(848215019);
  });

  it('gives the same numbers for the same seed and stream, and others for another', () => {
    fc.assert(
      fc.property(seeds, seeds, (seed, stream) => {
        const draws = (s: number, t: number) => {
          const random = new Random(s, t);
          return times(4, () => random.uint32());
        };
        const other = (value: number) => (value === 0 ? 1 : value - 1);
        expect(draws(seed, stream)).toEqual(draws(seed, stream));
        expect(draws(seed, stream)).not.toEqual(draws(other(seed), stream));
        expect(draws(seed, stream)).not.toEqual(draws(seed, other(stream)));
      }),
    );
  });

  it.each([-1, 1.5, Number.NaN, Infinity, 2 ** 53, '1' as unknown as number])(
    'refuses the seed %o',
    (bad) => {
      expect(() => new Random(bad)).toThrow(withCode('TIERED_CONFIG_INVALID'));
      expect(() => new Random(0, bad)).toThrow(withCode('TIERED_CONFIG_INVALID'));
    },
  );

  it('a permutation holds each number once', () => {
    fc.assert(
      fc.property(seeds, fc.nat({ max: 500 }), (seed, n) => {
        expect([...new Random(seed).permutation(n)].sort((a, b) => a - b)).toEqual([...Array(n).keys()]);
      }),
    );
  });

  it('a permutation of any length is the one of Fisher and Yates by below(), and draws no number more', () => {
    fc.assert(
      fc.property(seeds, fc.nat({ max: 5000 }), (seed, n) => {
        const [random, reference] = [new Random(seed), new Random(seed)];
        const order = [...Array(n).keys()];
        for (let i = n - 1; i > 0; i--) {
          const j = reference.below(i + 1);
          [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
        }
        expect([...random.permutation(n)]).toEqual(order);
        expect(random.uint32()).toBe(reference.uint32());
      }),
    );
  });

  it('every permutation of four comes equally often', () => {
    const random = new Random(2024);
    const rank = () => {
      const [a = 0, b = 0, c = 0] = random.permutation(4);
      return a * 16 + b * 4 + c;
    };
    const possible = new Map<number, number>();
    const index = (value: number) =>
      possible.get(value) ?? (possible.set(value, possible.size), possible.size - 1);
    // 23 degrees of freedom: 49.7 is passed once in 1,000 seeds.
    expect(chiSquare(24, 24_000, () => index(rank()))).toBeLessThan(49.7);
    expect(possible.size).toBe(24);
  });

  it('below gives whole numbers from 0 to bound - 1', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 1, max: 2 ** 32 }), (seed, bound) => {
        const value = new Random(seed).below(bound);
        expect(Number.isInteger(value) && value >= 0 && value < bound).toBe(true);
      }),
    );
  });

  it('below(1) is 0, and below(2^32) is every number of 32 bits', () => {
    const [bounded, free] = [new Random(5), new Random(5)];
    expect(times(100, () => bounded.below(2 ** 32))).toEqual(times(100, () => free.uint32()));
    expect(times(100, () => bounded.below(1))).toEqual(times(100, () => 0));
  });

  it.each([
    // Bound, and the chi-square that is passed once in 1,000 seeds for bound - 1 degrees of freedom.
    [2, 10.83],
    [3, 13.82],
    [6, 20.52],
    [10, 27.88],
    [17, 39.25],
    [100, 148.2],
  ])('below(%d) is uniform', (bound, limit) => {
    const random = new Random(99);
    expect(chiSquare(bound, bound * 2000, () => random.below(bound))).toBeLessThan(limit);
  });

  it('unit is from 0 to less than 1, and uniform', () => {
    const random = new Random(7);
    const bin = () => {
      const value = random.unit();
      expect(value >= 0 && value < 1).toBe(true);
      return Math.floor(value * 10);
    };
    expect(chiSquare(10, 20_000, bin)).toBeLessThan(27.88);
  });
});

describe('Random.normal', () => {
  it('draws from the standard normal distribution', () => {
    const random = new Random(1);
    const draws = Array.from({ length: 100_000 }, () => random.normal());
    const mean = draws.reduce((sum, draw) => sum + draw, 0) / draws.length;
    const variance = draws.reduce((sum, draw) => sum + (draw - mean) ** 2, 0) / draws.length;
    const beyond = draws.filter((draw) => draw > 1.96).length / draws.length;
    // Within five standard errors.
    expect(Math.abs(mean)).toBeLessThan(0.016);
    expect(Math.abs(variance - 1)).toBeLessThan(0.023);
    expect(Math.abs(beyond - 0.025)).toBeLessThan(0.0025);
  });
});
