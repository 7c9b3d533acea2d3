import { loadChecksum } from '@tiered/core/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LogCodec, type LogRecord } from '../src/log-record.js';
import { TierLedger } from '../src/tier-ledger.js';

const codec = new LogCodec(await loadChecksum());

const member = fc.constantFrom('a', 'b', 'c');
const name = fc.constantFrom('x', 'y', 'z', 'x@1', 'y@2');
const identity = {
  dataset: fc.constantFrom('d', 'e'),
  key: fc.constantFrom('x', 'y', 'z'),
  version: fc.constantFrom('1', '2'),
};
const bytes = fc.nat(60);

const record: fc.Arbitrary<LogRecord> = fc.oneof(
  fc.record({ op: fc.constant('join' as const), member, quota: fc.integer({ min: 50, max: 150 }) }),
  fc.record({ op: fc.constant('quota' as const), member, quota: fc.nat(150) }),
  fc.record({ op: fc.constant('leave' as const), member }),
  fc.record({ op: fc.constant('seal' as const), member }),
  fc.record({ op: fc.constant('claim' as const), member, name, bytes, ...identity }),
  fc.record({ op: fc.constant('free' as const), name }),
);

/** Lines as processes append them: who holds a claim may say that it is placed. */
const history = fc.array(fc.tuple(record, fc.boolean()), { maxLength: 80 });

function placedOf(ledger: TierLedger, claim: LogRecord & { op: 'claim' }): LogRecord | undefined {
  if (!ledger.holds(claim.member, claim.name)) return undefined;
  const { name: placed, bytes: size } =
    [...ledger.claims()].find((held) => held.name === claim.name) ?? claim;
  return {
    op: 'placed',
    name: placed,
    bytes: size,
    size: size + 5,
    chunkBytes: 10,
    sums: [1n, 2n ** 64n - 1n],
  };
}

const summary = (ledger: TierLedger) => ({
  used: ledger.usedBytes,
  claimed: ledger.claimedBytes,
  quota: ledger.quotaBytes,
  members: ledger.members.sort(),
  copies: [...ledger.copies()],
  claims: [...ledger.claims()],
  abandoned: [...ledger.abandoned()],
  sealedBy: ledger.sealedBy,
});

describe('TierLedger', () => {
  it('[Q1] grants a claim only within the smallest quota, and all who read the lines agree', () => {
    fc.assert(
      fc.property(history, (steps) => {
        const ledger = new TierLedger();
        const lines: string[] = [];
        const append = (one: LogRecord) => {
          lines.push(codec.encode(one));
          const before = ledger.usedBytes + ledger.claimedBytes;
          ledger.apply(one);
          const after = ledger.usedBytes + ledger.claimedBytes;
          if (after > before) expect(after).toBeLessThanOrEqual(ledger.quotaBytes);
        };
        for (const [one, place] of steps) {
          append(one);
          const placed = place && one.op === 'claim' ? placedOf(ledger, one) : undefined;
          if (placed !== undefined) append(placed);
        }
        const sum = (sizes: Iterable<{ bytes: number }>) =>
          [...sizes].reduce((total, { bytes: b }) => total + b, 0);
        expect(sum(ledger.copies())).toBe(ledger.usedBytes);
        expect(sum(ledger.claims())).toBe(ledger.claimedBytes);
        const other = new TierLedger();
        for (const line of lines) other.apply(codec.decode(line));
        expect(summary(other)).toEqual(summary(ledger));
      }),
    );
  });

  it('an object of a dataset has at most one copy or claim of a version', () => {
    fc.assert(
      fc.property(history, (steps) => {
        const ledger = new TierLedger();
        for (const [one, place] of steps) {
          ledger.apply(one);
          const placed = place && one.op === 'claim' ? placedOf(ledger, one) : undefined;
          if (placed !== undefined) ledger.apply(placed);
          const all = [...ledger.copies(), ...ledger.claims()].map(
            (c) => `${c.dataset} ${c.key} ${c.version}`,
          );
          expect(new Set(all).size).toBe(all.length);
        }
      }),
    );
  });

  it('a name that was used is never granted again', () => {
    const ledger = new TierLedger();
    const claim = {
      op: 'claim',
      member: 'a',
      name: 'x',
      bytes: 5,
      dataset: 'd',
      key: 'x',
      version: '1',
    } as const;
    ledger.apply({ op: 'join', member: 'a', quota: 100 });
    ledger.apply(claim);
    expect(ledger.holds('a', 'x')).toBe(true);
    ledger.apply({ op: 'free', name: 'x' });
    ledger.apply(claim);
    expect(ledger.holds('a', 'x')).toBe(false);
    ledger.apply({ ...claim, name: 'x@4' });
    expect(ledger.holds('a', 'x@4')).toBe(true);
  });

  it('what was claimed by a process that has gone stays claimed until it is freed', () => {
    const ledger = new TierLedger();
    ledger.apply({ op: 'join', member: 'a', quota: 100 });
    ledger.apply({ op: 'join', member: 'b', quota: 100 });
    ledger.apply({ op: 'claim', member: 'a', name: 'x', bytes: 80, dataset: 'd', key: 'x', version: '1' });
    ledger.apply({ op: 'leave', member: 'a' });
    expect([...ledger.abandoned()]).toEqual(['x']);
    ledger.apply({ op: 'claim', member: 'b', name: 'y', bytes: 30, dataset: 'd', key: 'y', version: '1' });
    expect(ledger.holds('b', 'y')).toBe(false);
    ledger.apply({ op: 'free', name: 'x' });
    ledger.apply({ op: 'claim', member: 'b', name: 'z', bytes: 30, dataset: 'd', key: 'y', version: '1' });
    expect(ledger.holds('b', 'z')).toBe(true);
  });
});

describe('LogCodec', () => {
  it('gives back what it was given, and nothing for a line that was changed in any place', () => {
    fc.assert(
      fc.property(record, fc.nat(), fc.integer({ min: 1, max: 127 }), (one, at, flip) => {
        const line = codec.encode(one);
        expect(codec.decode(line)).toEqual(one);
        const place = at % line.length;
        const changed = String.fromCharCode(line.charCodeAt(place) ^ flip);
        expect(codec.decode(line.slice(0, place) + changed + line.slice(place + 1))).toBeUndefined();
        expect(codec.decode(line.slice(0, place))).toBeUndefined();
      }),
    );
  });
});
