import fc from 'fast-check';
import { expect, it } from 'vitest';
import { OwnQuota } from '../../src/store/own-quota.js';

const QUOTA = 1000;

/**
 * What happens to copies that are on their way: more come, some are placed, others meet the end of the
 * storage.
 */
type Step =
  | { readonly do: 'claim'; readonly bytes: number }
  | { readonly do: 'place' | 'give back'; readonly pick: number }
  | { readonly do: 'meet the end'; readonly pick: number; readonly lost: number }
  | { readonly do: 'remove' };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('claim' as const), bytes: fc.integer({ min: 1, max: 200 }) }),
  fc.record({ do: fc.constantFrom('place' as const, 'give back' as const), pick: fc.nat() }),
  // More may be lost than a copy had: its directory, and what else came with it.
  fc.record({
    do: fc.constant('meet the end' as const),
    pick: fc.nat(),
    lost: fc.integer({ min: 1, max: 400 }),
  }),
  fc.record({ do: fc.constant('remove' as const) }),
);

it('[Q2] [Q1] a tier whose storage is full has room for what is there, and no more than before, however often copies meet the end', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const quota = new OwnQuota(QUOTA);
      const claims: { bytes: number; end: () => void }[] = [];
      const placed: number[] = [];
      const pickOf = (pick: number) => claims.splice(pick % Math.max(1, claims.length), 1)[0];
      for (const one of steps) {
        const before = quota.bytes;
        if (one.do === 'claim' && one.bytes <= quota.free)
          claims.push({ bytes: one.bytes, end: quota.claim(one.bytes) });
        if (one.do === 'remove') quota.used -= placed.pop() ?? 0;
        if (one.do === 'place' || one.do === 'give back' || one.do === 'meet the end') {
          const claim = pickOf(one.pick);
          if (claim === undefined) continue;
          if (one.do === 'meet the end') quota.shrink(quota.used + quota.claimed, one.lost);
          claim.end();
          claim.end();
          if (one.do === 'place') {
            placed.push(claim.bytes);
            quota.used += claim.bytes;
          }
        }
        expect(quota.claimed).toBe(claims.reduce((sum, { bytes }) => sum + bytes, 0));
        expect(quota.bytes).toBeLessThanOrEqual(before);
        // What is placed after that may be too much, and goes again.
        if (one.do === 'meet the end')
          expect(quota.bytes).toBeGreaterThanOrEqual(Math.min(before, quota.used));
      }
    }),
    { numRuns: 1000 },
  );
});
