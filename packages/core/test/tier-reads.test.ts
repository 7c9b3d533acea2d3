import { Hierarchy, MemoryDriver } from '@tiered/core';
import type { Placement } from '@tiered/core/placement';
import { ManualClock, outcomeOf, settled } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { TierReads } from '../src/read/tier-reads.js';
import { withCode } from './helpers.js';

const DEADLINE_MS = 1000;
const MIB = 1024 * 1024;
const never = () => new Promise<never>(() => undefined);

function start() {
  const clock = new ManualClock();
  return { clock, reads: new TierReads(new MemoryDriver(), clock, DEADLINE_MS) };
}

describe('reads of a tier', () => {
  it('one sleeper looks at any number of them, and none when they have ended', async () => {
    const { clock, reads } = start();
    const asleep: number[] = [];
    for (let i = 0; i < 100; i++) {
      await reads.leave(1, undefined, async () => i);
      await reads.hold(1, new AbortController().signal, async () => i);
      asleep.push(clock.sleepingInBackground);
    }
    expect([Math.max(...asleep), clock.sleeping]).toEqual([1, 0]);
    await clock.advance(DEADLINE_MS);
    expect(clock.sleepingInBackground).toBe(0);
    expect(reads.areDone).toBe(true);
  });

  it('a large one has more time, a second for each 4 MiB', async () => {
    const { clock, reads } = start();
    const small = outcomeOf(reads.leave(1, undefined, never));
    await clock.advance(DEADLINE_MS * 1.25);
    const large = outcomeOf(reads.leave(16 * MIB, undefined, never));
    expect(small.error).toEqual(withCode('TIERED_DEADLINE'));
    await clock.advance(DEADLINE_MS * 5 - 1);
    expect(large).toEqual({});
    await clock.advance(DEADLINE_MS * 0.25 + 1);
    expect(large.error).toEqual(withCode('TIERED_DEADLINE'));
  });

  it('has the time from its own beginning, however long the tier was idle or busy before', async () => {
    const { clock, reads } = start();
    for (let second = 0; second < 5; second++) {
      await reads.leave(1, undefined, async () => 1);
      await clock.advance(DEADLINE_MS * second);
    }
    const last = outcomeOf(reads.leave(1, undefined, never));
    await clock.advance(DEADLINE_MS - 1);
    expect(last).toEqual({});
    await clock.advance(DEADLINE_MS * 0.25 + 1);
    expect(last.error).toEqual(withCode('TIERED_DEADLINE'));
  });

  it('a driver that throws at once, or fails, is done', async () => {
    const { reads } = start();
    const broken = () => {
      throw new Error('broken');
    };
    await expect(reads.leave(1, undefined, broken)).rejects.toThrow('broken');
    await expect(reads.hold(1, undefined, async () => broken())).rejects.toThrow('broken');
    expect([reads.areDone, reads.inTime, reads.stuck]).toEqual([true, 0, 0]);
  });

  it('are refused after the end, and for a signal that has aborted', async () => {
    const { clock, reads } = start();
    const aborted = AbortSignal.abort(new Error('enough'));
    await expect(reads.leave(1, aborted, never)).rejects.toThrow('enough');
    const waiting = outcomeOf(
      reads.leave(1, undefined, async (signal) => settled().then(() => signal.aborted)),
    );
    await reads.end(new Error('closed'));
    expect(waiting.error).toEqual(new Error('closed'));
    await expect(reads.hold(1, undefined, never)).rejects.toThrow('closed');
    expect([clock.sleeping, clock.sleepingInBackground]).toEqual([0, 0]);
  });
});

it.each([0, -1, Number.NaN, Infinity, '5' as unknown as number])(
  'a deadline of %s is refused',
  (readDeadlineMs) => {
    const tiers = [{ driver: new MemoryDriver(), quota: 1, readDeadlineMs }];
    const placement = { read: () => undefined } as unknown as Placement;
    expect(() => new Hierarchy({ source: new MemoryDriver(), tiers, placement })).toThrow(
      /tiers\[0\]\.readDeadlineMs: expected milliseconds/,
    );
  },
);
