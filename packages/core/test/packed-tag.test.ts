import fc from 'fast-check';
import { expect, it } from 'vitest';
import { copyName, tagOf } from '../src/tier/copy-name.js';
import { CopyNames } from '../src/tier/copy-places.js';
import {
  fileOf,
  isPacked,
  newSegment,
  offsetInFile,
  packedTag,
  SEGMENT_BYTES,
  SEGMENT_UNIT,
  SEGMENT_UNITS,
  segmentName,
  segmentOf,
} from '../src/tier/packed-tag.js';

const MOST_SEGMENTS = 2 ** 35 - 1;
const segment = fc.oneof(
  fc.nat(5),
  fc.maxSafeInteger().map((n) => Math.abs(n) % MOST_SEGMENTS),
  fc.constant(MOST_SEGMENTS - 1),
);
const offset = fc
  .oneof(fc.nat(SEGMENT_UNITS - 1), fc.constantFrom(0, SEGMENT_UNITS - 1))
  .map((unit) => unit * SEGMENT_UNIT);

it('a packed tag says which segment and where in it, exactly, and is none of a copy with a file of its own', () => {
  fc.assert(
    fc.property(segment, offset, (number, at) => {
      const tag = packedTag(number, at);
      expect(Number.isSafeInteger(tag)).toBe(true);
      expect([isPacked(tag), segmentOf(tag), offsetInFile(tag)]).toEqual([true, number, at]);
      expect(fileOf('any/Key', tag)).toBe(segmentName(number));
      expect(tagOf(segmentName(number))).toBe(number);
      // Unlike any file's.
      expect(tagOf(copyName('any/Key', tag))).toBeUndefined();
    }),
    { numRuns: 2000 },
  );
  expect([-1, 0, 2 ** 40, undefined].map((tag) => [isPacked(tag), offsetInFile(tag)])).toEqual(
    Array.from({ length: 4 }, () => [false, 0]),
  );
  expect(SEGMENT_BYTES).toBe(4 * 2 ** 20);
});

it('no key has the name of a segment', () => {
  const key = fc
    .string({ minLength: 1, unit: 'binary' })
    .filter((one) => one.isWellFormed() && !one.includes('\0'));
  fc.assert(
    fc.property(fc.oneof(key, fc.constantFrom('%', '.', '..', '@', '%@')), fc.nat(2 ** 31), (one, number) => {
      expect(copyName(one, number)).not.toBe(segmentName(number));
    }),
    { numRuns: 300 },
  );
});

it('numbers of segments fit into tags', () => {
  for (let i = 0; i < 1000; i++) {
    const number = newSegment();
    expect(Number.isSafeInteger(number) && number >= 0 && number < MOST_SEGMENTS).toBe(true);
    expect(Number.isSafeInteger(packedTag(number, SEGMENT_BYTES - SEGMENT_UNIT))).toBe(true);
  }
});

it('copies in one segment share the name of its file, each with its own place', () => {
  const names = new CopyNames();
  names.set(1, packedTag(7, 0));
  names.set(2, packedTag(7, 160));
  names.set(3, 42);
  const placeOf = (id: number) => {
    const tag = names.tagOf(id);
    return [names.fileOf(id, `key ${id}`, tag), offsetInFile(tag)];
  };
  expect([0, 1, 2, 3].map(placeOf)).toEqual([
    ['key 0', 0],
    [segmentName(7), 0],
    [segmentName(7), 160],
    [copyName('key 3', 42), 0],
  ]);
  names.set(2, undefined);
  expect(placeOf(2)).toEqual(['key 2', 0]);
});
