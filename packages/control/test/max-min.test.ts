import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxMin, type Claim } from '../src/shares/max-min.js';

const amount = fc.double({ min: 0, max: 1e9, noNaN: true });
const claim: fc.Arbitrary<Claim> = fc.record({
  weight: fc.double({ min: 0.001, max: 1000, noNaN: true }),
  wanted: fc.oneof(amount, fc.constant(Infinity)),
  atLeast: fc.oneof(fc.constant(0), amount),
  atMost: fc.oneof(fc.constant(Infinity), amount),
  priority: fc.integer({ min: -2, max: 2 }),
});
const claims = fc.array(claim, { minLength: 1, maxLength: 12 });
const plain = (wanted: number, weight = 1): Claim => ({
  weight,
  wanted,
  atLeast: 0,
  atMost: Infinity,
  priority: 0,
});
const sum = (amounts: readonly number[]) => amounts.reduce((a, b) => a + b, 0);
const mostOf = ({ wanted, atMost }: Claim) => Math.min(wanted, atMost);

describe('weighted max-min', () => {
  it.each([
    ['equal claims of everything', 120, [plain(Infinity), plain(Infinity)], [60, 60]],
    ['weights', 140, [plain(Infinity), plain(Infinity, 2), plain(Infinity, 4)], [20, 40, 80]],
    ['one that wants little', 150, [plain(30), plain(Infinity), plain(Infinity)], [30, 60, 60]],
    ['all that want little', 150, [plain(30), plain(40)], [30, 40]],
    ['a limit', 150, [{ ...plain(Infinity), atMost: 20 }, plain(Infinity)], [20, 130]],
    ['a guarantee', 100, [{ ...plain(Infinity), atLeast: 70 }, plain(Infinity)], [70, 30]],
    ['a guarantee of what is not wanted', 100, [{ ...plain(10), atLeast: 70 }, plain(Infinity)], [10, 90]],
    ['guarantees of too much', 100, [{ ...plain(Infinity), atLeast: 900 }, plain(Infinity)], [90, 10]],
    ['a priority', 100, [{ ...plain(80), priority: 1 }, plain(Infinity), plain(Infinity)], [80, 10, 10]],
  ])('shares out among %s', (_what, whole, list, expected) => {
    const shares = maxMin(whole, list);
    for (const [at, share] of expected.entries()) expect(shares[at]).toBeCloseTo(share, 6);
  });

  it('gives nobody more than it wants, and never more than there is', () => {
    fc.assert(
      fc.property(amount, claims, (whole, list) => {
        const shares = maxMin(whole, list);
        shares.forEach((share, at) => {
          expect(share).toBeGreaterThanOrEqual(0);
          expect(share).toBeLessThanOrEqual(mostOf(list[at] ?? plain(0)));
        });
        expect(sum(shares)).toBeLessThanOrEqual(whole * (1 + 1e-9) + 1e-6);
      }),
    );
  });

  it('[U2] leaves nothing that somebody wants', () => {
    fc.assert(
      fc.property(amount, claims, (whole, list) => {
        const shares = maxMin(whole, list);
        const wanted = sum(list.map(mostOf));
        expect(sum(shares)).toBeGreaterThanOrEqual(Math.min(whole, wanted) * (1 - 1e-6) - 1e-6);
      }),
    );
  });

  it('[U2] gives nobody more for its weight than another one who wants more', () => {
    fc.assert(
      fc.property(amount, claims, (whole, list) => {
        const equals = list.map((one) => ({ ...one, priority: 0, atLeast: 0 }));
        const shares = maxMin(whole, equals);
        equals.forEach((one, at) => {
          const own = (shares[at] ?? 0) / one.weight;
          if ((shares[at] ?? 0) >= mostOf(one) * (1 - 1e-9)) return;
          equals.forEach((other, i) => {
            expect((shares[i] ?? 0) / other.weight).toBeLessThanOrEqual(own * (1 + 1e-6) + 1e-6);
          });
        });
      }),
    );
  });

  it('[U2] is not moved by a claim of more than its share: who lies gets its weight, and no more', () => {
    fc.assert(
      fc.property(amount, claims, fc.nat(11), (whole, list, liar) => {
        const equals = list.map((one) => ({ ...one, priority: 0, atLeast: 0, atMost: Infinity }));
        const at = liar % equals.length;
        const lying = equals.map((one, i) => (i === at ? { ...one, wanted: Infinity } : one));
        const honest = maxMin(
          whole,
          lying.map((one) => ({ ...one, wanted: Infinity })),
        );
        const shares = maxMin(whole, lying);
        // The others have at least what they would have if all wanted everything, or all that they want.
        shares.forEach((share, i) => {
          const least = Math.min(mostOf(lying[i] ?? plain(0)), honest[i] ?? 0);
          expect(share).toBeGreaterThanOrEqual(least * (1 - 1e-6) - 1e-6);
        });
      }),
    );
  });
});
