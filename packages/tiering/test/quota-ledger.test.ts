import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { QuotaLedger, type Reservation } from '../src/quota-ledger.js';

describe('QuotaLedger', () => {
  it('promises no more than there is, and gives back what was cancelled or released', () => {
    const ledger = new QuotaLedger([100, 10]);
    const first = ledger.reserve(0, 60);
    expect(ledger.reserve(0, 41)).toBeUndefined();
    expect(ledger.freeBytes(0)).toBe(40);
    first?.commit();
    expect([ledger.usedBytes(0), ledger.reservedBytes(0), ledger.freeBytes(0)]).toEqual([60, 0, 40]);
    ledger.reserve(0, 40)?.cancel();
    expect(ledger.freeBytes(0)).toBe(40);
    ledger.release(0, 60);
    expect(ledger.freeBytes(0)).toBe(100);
    expect(ledger.freeBytes(1)).toBe(10);
  });

  it('treats an account that does not add up as a bug', () => {
    const ledger = new QuotaLedger([100]);
    const reservation = ledger.reserve(0, 10);
    reservation?.commit();
    expect(() => reservation?.cancel()).toThrow(/invariant/);
    expect(() => ledger.release(0, 11)).toThrow(/invariant/);
    expect(() => ledger.reserve(0, -1)).toThrow(/invariant/);
    expect(() => ledger.reserve(1, 1)).toThrow(/invariant/);
  });

  it('[Q1] used and reserved bytes never exceed the quota, whatever happens in whatever order', () => {
    const step = fc.record({
      action: fc.constantFrom('reserve', 'commit', 'cancel', 'release'),
      bytes: fc.nat(60),
    });
    fc.assert(
      fc.property(fc.nat(200), fc.array(step, { maxLength: 100 }), (quota, steps) => {
        const ledger = new QuotaLedger([quota]);
        const open: Reservation[] = [];
        const published: number[] = [];
        for (const { action, bytes } of steps) {
          if (action === 'reserve') {
            const reservation = ledger.reserve(0, bytes);
            const held = sum(published) + sum(open.map((r) => r.bytes));
            expect(reservation === undefined).toBe(held + bytes > quota);
            if (reservation) open.push(reservation);
          } else if (action === 'release') ledger.release(0, published.pop() ?? 0);
          else {
            const reservation = open.shift();
            if (action === 'commit' && reservation) published.push(reservation.bytes);
            reservation?.[action === 'commit' ? 'commit' : 'cancel']();
          }
          expect(ledger.usedBytes(0)).toBe(sum(published));
          expect(ledger.usedBytes(0) + ledger.reservedBytes(0) + ledger.freeBytes(0)).toBe(quota);
        }
      }),
    );
  });
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
