import { MemoryDriver, Random } from '@tiered/core';
import { ThrottleDriver } from '@tiered/core/decorators';
import { ManualClock } from '@tiered/core/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { IdSet } from '../src/admission/left-behind.js';
import { Writers } from '../src/memory/writers.js';

/**
 * Writes so many objects of 100 KB to a store, all at once. Returns how many at a time there were in the end.
 */
async function fill(
  options: { latencyMs?: number; bytesPerSecond?: number },
  start: number,
): Promise<number> {
  const clock = new ManualClock();
  const store = new ThrottleDriver(new MemoryDriver(), { ...options, clock });
  const writers = new Writers(start, clock);
  const bytes = new Uint8Array(100_000);
  const write = (i: number) =>
    writers.run(bytes.byteLength, () => store.write(String(i % 10), bytes, { size: bytes.byteLength }));
  await clock.run(Promise.all(Array.from({ length: 6000 }, (_, i) => write(i))));
  return writers.concurrency;
}

it('writes become more at a time where each waits for a round trip', async () => {
  expect(await fill({ latencyMs: 50 }, 6)).toBeGreaterThanOrEqual(24);
});

it('writes become fewer at a time where one link is full anyway', async () => {
  expect(await fill({ bytesPerSecond: 10_000_000 }, 6)).toBeLessThanOrEqual(3);
});

it('a set of numbers gives back each of them once', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(5000)), fc.array(fc.nat(5000)), (added, deleted) => {
      const ids = new IdSet();
      for (const id of added) ids.add(id);
      for (const id of deleted) ids.delete(id);
      const left = new Set(added.filter((id) => !deleted.includes(id)));
      expect(ids.size).toBe(left.size);
      const random = new Random(added.length);
      const taken = [];
      for (let id = ids.take(); id !== undefined; id = ids.take()) {
        taken.push(id);
        if (random.below(3) === 0) ids.delete(id);
      }
      expect(taken.sort((a, b) => a - b)).toEqual([...left].sort((a, b) => a - b));
    }),
  );
});
