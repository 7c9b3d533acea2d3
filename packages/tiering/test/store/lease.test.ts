import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Lease } from '../../src/store/shared/lease.js';

const BLOCK = 4096;
const QUOTA = 400 * BLOCK;

/** What happens to a lease: claims, and the transactions that record them, which may fail. */
type Step =
  | { readonly do: 'claim'; readonly bytes: number; readonly depth: number }
  | { readonly do: 'begin'; readonly others: number }
  | { readonly do: 'end'; readonly outcome: 'applied' | 'failed'; readonly refused: number }
  | { readonly do: 'finish' };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('claim' as const),
    bytes: fc.integer({ min: 0, max: 60 * BLOCK }),
    depth: fc.nat({ max: 3 }),
  }),
  fc.record({ do: fc.constant('begin' as const), others: fc.nat({ max: 50 * BLOCK }) }),
  fc.record({
    do: fc.constant('end' as const),
    outcome: fc.constantFrom('applied', 'failed'),
    refused: fc.nat({ max: 3 }),
  }),
  fc.record({ do: fc.constant('finish' as const) }),
);

interface Claim {
  readonly occupied: number;
  readonly above: number;
}

describe('a lease', () => {
  it('[Q1] never gives more than was leased, whatever is claimed while transactions are under way or fail', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const lease = new Lease(QUOTA, BLOCK);
        // As the index has it.
        let leased = 0;
        let recorded = 0;
        let waiting: Claim[] = [];
        const open: Claim[] = [];
        let transaction: { terms: ReturnType<Lease['terms']>; claims: Claim[] } | undefined;
        for (const one of steps) {
          const unleased = QUOTA - lease.hold - leased - recorded;
          if (one.do === 'claim') {
            const claim = {
              occupied: lease.occupied(one.bytes),
              above: lease.directories('a/'.repeat(one.depth)),
            };
            if (lease.take(claim.occupied + claim.above, unleased)) {
              waiting.push(claim);
              open.push(claim);
            } else lease.want(claim.occupied + claim.above);
          } else if (one.do === 'begin' && transaction === undefined) {
            transaction = { terms: lease.terms(one.others), claims: waiting };
            waiting = [];
          } else if (one.do === 'end' && transaction !== undefined) {
            const { terms, claims } = transaction;
            for (const [index, { occupied }] of claims.entries()) {
              const isGranted = one.outcome === 'applied' && index >= one.refused;
              lease.recorded(occupied, isGranted);
              if (isGranted) [leased, recorded] = [leased - occupied, recorded + occupied];
            }
            lease.ended();
            if (one.outcome === 'applied') {
              leased = Math.max(0, leased - terms.spare);
              leased += Math.max(0, Math.min(terms.wants, QUOTA - terms.hold - leased - recorded));
              lease.learn(leased);
            }
            transaction = undefined;
          } else if (one.do === 'finish') lease.giveBack(open.shift()?.above ?? 0);
          expect(leased, 'leased').toBeGreaterThanOrEqual(0);
          expect(lease.reserved, 'claimed of what is leased').toBeLessThanOrEqual(leased);
          expect(leased + recorded).toBeLessThanOrEqual(QUOTA - lease.hold);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
