import { someBytes } from '@tiered/core/testing';
import { expect, it } from 'vitest';
import { PackedEntries } from '../src/batches/packed-entries.js';

const KIB = 1024;

it('packs as many entries as fit into 256 KiB, in their order', () => {
  const packed = new PackedEntries();
  const entries = [0, 1].map((seed) => someBytes(100 * KIB, seed));
  for (const bytes of entries) packed.add(bytes);
  expect(packed.hasRoomFor(56 * KIB)).toBe(true);
  expect(packed.hasRoomFor(56 * KIB + 1)).toBe(false);
  expect(Buffer.compare(packed.take(), Buffer.concat(entries))).toBe(0);
  expect([packed.bytes, packed.hasRoomFor(256 * KIB)]).toEqual([0, true]);
});

it('takes no more memory than all of them need', () => {
  const packed = new PackedEntries(KIB);
  expect([packed.hasRoomFor(KIB), packed.hasRoomFor(KIB + 1)]).toEqual([true, false]);
});
