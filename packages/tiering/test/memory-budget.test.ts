import { ManualClock } from '@tiered/core/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MemoryBudget } from '../src/memory/memory-budget.js';

const MIB = 2 ** 20;

/** Lends memory for so many bytes and takes it back, while other memory is held. */
function used(budget: MemoryBudget, bytes: number): Uint8Array {
  budget.take(bytes);
  const memory = budget.lend(bytes);
  budget.came(bytes);
  budget.giveBack(memory, true);
  budget.release(bytes);
  return memory;
}

it('memory of one chunk serves the next one of about its size, of as many bytes as are asked for', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 * MIB }), fc.integer({ min: 1, max: 4 * MIB }), (first, then) => {
      const budget = new MemoryBudget(64 * MIB, new ManualClock());
      budget.take(1);
      const [before, after] = [used(budget, first), used(budget, then)];
      expect([before.byteLength, after.byteLength]).toEqual([first, then]);
      const isAgain = before.buffer === after.buffer;
      if (first === then) expect(isAgain).toBe(first >= 2 ** 14);
      else if (isAgain) expect(Math.max(first, then) / Math.min(first, then)).toBeLessThanOrEqual(1.26);
    }),
  );
});

it('memory that did not come, or is lent, is nobody else’s; and nothing is kept when nothing is held', () => {
  const budget = new MemoryBudget(64 * MIB, new ManualClock());
  budget.take(2 * MIB);
  const [first, second] = [budget.lend(MIB), budget.lend(MIB)];
  expect(first.buffer).not.toBe(second.buffer);
  // Its request failed, and may be writing to it still.
  budget.giveBack(first, false);
  expect(budget.lend(MIB).buffer).not.toBe(first.buffer);
  budget.came(MIB);
  budget.giveBack(second, true);
  budget.release(2 * MIB);
  expect(budget.held).toBe(0);
  expect(budget.lend(MIB).buffer).not.toBe(second.buffer);
});

it('memory that a tier may keep is as long as the chunk, and serves no other one', () => {
  const budget = new MemoryBudget(64 * MIB, new ManualClock());
  budget.take(2 * MIB);
  const kept = budget.lend(MIB - 1, true);
  expect(kept.buffer.byteLength).toBe(MIB - 1);
  budget.came(MIB - 1);
  budget.giveBack(kept, true, true);
  expect(budget.lend(MIB - 1).buffer).not.toBe(kept.buffer);
});

it('no more is kept than four of the largest chunks', () => {
  const budget = new MemoryBudget(512 * MIB, new ManualClock());
  const count = 100;
  budget.take(count * MIB);
  const lent = Array.from({ length: count }, () => budget.lend(MIB));
  for (const memory of lent) {
    budget.came(MIB);
    budget.giveBack(memory, true);
  }
  const kept = new Set(lent.map(({ buffer }) => buffer));
  const again = Array.from({ length: count }, () => budget.lend(MIB)).filter(({ buffer }) =>
    kept.has(buffer),
  );
  expect(again.length).toBe(64);
});
