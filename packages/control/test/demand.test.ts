import { ManualClock } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import type { PaceCounts } from '../src/pacing/pace.js';
import { stageRecord } from '../src/records/stage-record.js';
import { NO_RATE } from '../src/shares/rate.js';
import { recordOf } from '../src/shares/terms.js';
import { Demand, type Consumed, type SourceDemand } from '../src/stage/demand.js';

const NOTHING: PaceCounts = { bytes: 0, operations: 0, waitedMs: 0, requestMs: 0, ended: 0 };

/** What happens in half a second. */
interface Half {
  readonly bytes: number;
  /** Milliseconds in which requests wait for the share. */
  readonly waitedMs?: number;
  /** Milliseconds of a request. */
  readonly requestMs?: number;
  /** Part of the time in which the consumer waits. Undefined: nobody is followed. */
  readonly starved?: number;
  /** Whether the source is full. Default: no. */
  readonly isFull?: boolean;
}

/** Looks after each half second, and returns what was said last. */
function lookAt(halves: readonly Half[]): SourceDemand {
  const clock = new ManualClock();
  const demand = new Demand(clock, NOTHING);
  let counts = NOTHING;
  let consumed: Consumed = { bytes: 0, computedMs: 0, starvedMs: 0 };
  let said: SourceDemand | undefined;
  for (const { bytes, waitedMs = 0, requestMs = 2, starved, isFull = false } of halves) {
    clock.pass(500);
    const operations = bytes / 1000;
    counts = {
      bytes: counts.bytes + bytes,
      operations: counts.operations + operations,
      waitedMs: counts.waitedMs + waitedMs,
      requestMs: counts.requestMs + operations * requestMs,
      ended: counts.ended + operations,
    };
    consumed = {
      bytes: consumed.bytes + bytes,
      computedMs: consumed.computedMs + 500 * (1 - (starved ?? 0)),
      starvedMs: consumed.starvedMs + 500 * (starved ?? 0),
    };
    said = demand.look(counts, starved === undefined ? undefined : consumed, isFull);
  }
  if (said === undefined) throw new Error('no half second');
  return said;
}

const times = (count: number, half: Half) => Array.from({ length: count }, () => half);

describe('what a stage could use', () => {
  it('is everything in its first two seconds, and nothing before it reads', () => {
    expect(lookAt(times(3, { bytes: 5_000 })).wanted.bytes).toBe(Infinity);
    expect(lookAt(times(3, { bytes: 0 })).wanted.bytes).toBe(0);
    expect(lookAt([...times(9, { bytes: 0 }), { bytes: 5_000 }]).wanted.bytes).toBe(Infinity);
  });

  it('is a little more than what it uses, if nothing holds it up', () => {
    const { used, wanted, waits } = lookAt(times(8, { bytes: 5_000, starved: 0 }));
    expect(used).toEqual({ bytes: 10_000, operations: 10 });
    expect(wanted.bytes).toBeCloseTo(10_300);
    expect(wanted.operations).toBeCloseTo(10.3);
    expect(waits).toBe(0);
  });

  it('is what its consumers would take, if its requests wait for the share', () => {
    const held = { bytes: 5_000, waitedMs: 480 };
    expect(lookAt(times(8, { ...held, starved: 0.5 })).wanted.bytes).toBeCloseTo(20_000);
    // They have all that they need already: it reads further ahead than it must.
    expect(lookAt(times(8, { ...held, starved: 0 })).wanted.bytes).toBeCloseTo(10_300);
    // Who only waits could take anything, and so could one whose consumers are not known.
    expect(lookAt(times(8, { ...held, starved: 1 })).wanted.bytes).toBe(Infinity);
    expect(lookAt(times(8, held)).wanted.bytes).toBe(Infinity);
  });

  it('is what its few requests would bring without those of others before them', () => {
    const alone = times(8, { bytes: 60_000, requestMs: 2, starved: 0.9 });
    const queued = { bytes: 6_000, requestMs: 20, isFull: true };
    const behind = times(8, { ...queued, starved: 0.99 });
    const { used, wanted } = lookAt([...alone, ...behind]);
    expect(used.bytes).toBeCloseTo(12_000);
    expect(wanted.bytes / used.bytes).toBeGreaterThan(9);
    // Its consumers would not take as much.
    const content = lookAt([...alone, ...times(8, { ...queued, starved: 0.2 })]);
    expect(content.wanted.bytes).toBeCloseTo(12_000 / 0.8);
  });

  it('is what its consumers would take, as long as it has only seen the source full', () => {
    const full = { bytes: 6_000, requestMs: 20, isFull: true };
    expect(lookAt(times(8, { ...full, starved: 1 })).wanted.bytes).toBe(Infinity);
    expect(lookAt(times(8, { ...full, starved: 0.5 })).wanted.bytes).toBeCloseTo(24_000);
    // It has seen once what its few requests bring.
    const atEase = times(4, { bytes: 6_000, requestMs: 20, starved: 1 });
    const known = [...times(8, full), ...atEase, ...times(4, { ...full, starved: 1 })];
    expect(lookAt(known).wanted.bytes).toBeCloseTo(12_360);
  });

  it('is that too, if it began beside others, whose use does not count in full at first', () => {
    const begun = times(4, { bytes: 6_000, requestMs: 20, starved: 1 });
    const full = times(4, { bytes: 6_000, requestMs: 20, starved: 1, isFull: true });
    expect(lookAt([...begun, ...full]).wanted.bytes).toBe(Infinity);
  });

  it('counts in full from the first request on, however long the stage was there before', () => {
    const { used } = lookAt([...times(4, { bytes: 0 }), ...times(2, { bytes: 5_000 })]);
    expect(used.bytes).toBe(10_000);
  });

  it('is what it uses if the source is slower than it was, and nobody makes it so', () => {
    const before = times(8, { bytes: 6_000, requestMs: 10, starved: 1 });
    const slower = { bytes: 6_000, requestMs: 20, starved: 1 };
    expect(lookAt([...before, ...times(2, slower)]).wanted.bytes).toBeGreaterThan(20_000);
    expect(lookAt([...before, ...times(16, slower)]).wanted.bytes).toBeCloseTo(12_360);
  });

  it('falls within two seconds to what a stage uses that has stopped', () => {
    const { used, wanted } = lookAt([
      ...times(8, { bytes: 5_000, starved: 0 }),
      ...times(4, { bytes: 0, starved: 0 }),
    ]);
    expect([used.bytes, wanted.bytes]).toEqual([0, 0]);
  });

  it('[U2] is everything in a record if a source that hangs makes it more than a record has', () => {
    const calm = times(8, { bytes: 2.5e9, requestMs: 0.1 });
    const { wanted } = lookAt([...calm, { bytes: 2.5e9, requestMs: 60_000 }]);
    expect(wanted.bytes).toBeGreaterThan(1e15);
    const source = { used: NO_RATE, waits: 0, wanted: recordOf(wanted) };
    const stage = {
      v: 1,
      kind: 'stage',
      job: 'job',
      node: 'node',
      terms: {},
      tiers: {},
      sources: { source },
    };
    expect(stageRecord.parse(stage).sources['source']?.wanted.bytes).toBeUndefined();
  });
});
