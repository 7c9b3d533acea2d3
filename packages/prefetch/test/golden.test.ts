import { createHash } from 'node:crypto';
import { shuffledSequence } from '@tiered/prefetch';
import { expect, it } from 'vitest';

// These orders must never change: training runs are resumed, and results repeated, by seed alone, with any
// later version. They were computed by an independent program (SplitMix64 of the seed; SplitMix64 of that
// plus the epoch for the state of xoshiro128**; masked draws; Fisher and Yates from the end). If one of these
// tests fails, the code is wrong, not the vector.

/** The order of one epoch over keys that name their own place. */
function order(seed: number, epoch: number, length: number): number[] {
  const keys = Array.from({ length }, (_, i) => `${i}`);
  const sequence = shuffledSequence(keys, { seed, epochs: epoch + 1 });
  return keys.map((_, position) => Number(sequence.at(epoch, position).key));
}

it.each([
  { seed: 0, epoch: 0, expected: [4, 0, 2, 5, 1, 6, 8, 7, 3, 9] },
  { seed: 0, epoch: 1, expected: [5, 4, 7, 3, 9, 6, 2, 0, 8, 1] },
  { seed: 42, epoch: 0, expected: [7, 6, 10, 9, 8, 11, 2, 4, 0, 1, 5, 3] },
  { seed: 42, epoch: 1, expected: [4, 10, 2, 3, 8, 7, 5, 11, 0, 1, 6, 9] },
  { seed: 42, epoch: 2, expected: [6, 0, 10, 2, 3, 1, 9, 11, 8, 7, 4, 5] },
  { seed: Number.MAX_SAFE_INTEGER, epoch: 7, expected: [6, 5, 3, 1, 7, 2, 4, 0] },
  { seed: 7, epoch: 1_000_000, expected: [4, 0, 3, 2, 1] },
  { seed: 1, epoch: 0, expected: [0] },
])('seed $seed, epoch $epoch, $expected.length keys: the order is the one of always', (vector) => {
  expect(order(vector.seed, vector.epoch, vector.expected.length)).toEqual(vector.expected);
});

it.each([
  { epoch: 0, sha256: '613e2c9fd37bd652a0ec85b84def74a86f958d33061f53be00e99e2b0c7d48fc' },
  { epoch: 3, sha256: 'acb92692566ead3b494a2ab2ff42733003e5c80b7a4ebb99f65855d2c6ef40fd' },
])('seed 123, epoch $epoch, 60,000 keys: the order is the one of always', ({ epoch, sha256 }) => {
  // Little-endian 32-bit words.
  const bytes = Buffer.alloc(4 * 60_000);
  for (const [position, key] of order(123, epoch, 60_000).entries()) bytes.writeUInt32LE(key, 4 * position);
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
});
