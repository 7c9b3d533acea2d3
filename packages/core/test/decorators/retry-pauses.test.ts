import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryDriver } from '@tiered/core';
import { RetryDriver, type RetryDriverOptions } from '@tiered/core/decorators';
import { FaultDriver, ManualClock } from '@tiered/core/testing';
import { NotingDriver } from '../helpers.js';

describe('the pauses of RetryDriver', () => {
  /** How long each pause of a call was that fails every time. */
  const pauses = async (options: RetryDriverOptions) => {
    const clock = new ManualClock();
    const faults = new FaultDriver(new MemoryDriver(), { rules: [{ fault: { kind: 'fail' } }] });
    const tries = new NotingDriver(faults, clock);
    await clock.run(new RetryDriver(tries, { ...options, clock }).stat('a', {})).catch(() => undefined);
    return tries.times.slice(1).map((time, i) => time - (tries.times[i] ?? 0));
  };

  it('stay below a bound that doubles from baseDelayMs up to maxDelayMs', async () => {
    const bounds = [10, 20, 40, 80, 100, 100, 100];
    const longest = bounds.map(() => 0);
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const drawn = await pauses({ seed, attempts: 8, baseDelayMs: 10, maxDelayMs: 100 });
        expect(drawn).toHaveLength(7);
        for (const [i, pause] of drawn.entries()) {
          expect(pause).toBeGreaterThanOrEqual(0);
          expect(pause).toBeLessThanOrEqual((bounds[i] ?? 0) + 1e-9);
          longest[i] = Math.max(longest[i] ?? 0, pause);
        }
      }),
      { numRuns: 100, seed: 1 },
    );
    for (const [i, pause] of longest.entries()) expect(pause).toBeGreaterThan((bounds[i] ?? 0) * 0.8);
  });

  it('stay below maxDelayMs from the first on, also if baseDelayMs is larger', async () => {
    const drawn = await pauses({ seed: 1, attempts: 4, baseDelayMs: 1000, maxDelayMs: 10 });
    expect(Math.max(...drawn)).toBeLessThanOrEqual(10);
  });

  it('are drawn from all of 0 to the bound, evenly', async () => {
    const options = { attempts: 401, baseDelayMs: 100, maxDelayMs: 100, deadlineMs: 1e9 };
    const drawn = await pauses({ ...options, seed: 5 });
    const tenths = drawn.map((pause) => Math.floor(pause / 10));
    for (let tenth = 0; tenth < 10; tenth++) {
      // 400 draws: 40 a tenth, with a standard deviation of 6.
      expect(tenths.filter((value) => value === tenth).length).toBeGreaterThan(16);
    }
  });

  it('are the same for the same seed, and others for another', async () => {
    expect(await pauses({ seed: 3 })).toEqual(await pauses({ seed: 3 }));
    expect(await pauses({ seed: 3 })).not.toEqual(await pauses({ seed: 4 }));
  });
});
