import { randomBytes } from 'node:crypto';
import { copyName } from './copy-name.js';

/** Copies in a segment begin at multiples of this, in bytes. */
export const SEGMENT_UNIT = 16;
/**
 * `index/thread/schema.js` of tiering repeats this number, because its thread loads no code of this package.
 */
const UNIT_BITS = 18;
/** The most units of a segment. */
export const SEGMENT_UNITS = 2 ** UNIT_BITS;
/** The most bytes of a segment: 4 MiB. */
export const SEGMENT_BYTES = SEGMENT_UNIT * SEGMENT_UNITS;

const NUMBER_BITS = 35;
const NUMBER_BYTES = 5;
/**
 * Is below the tags of copies with a file of their own, which are not negative, and below the number for no
 * tag.
 */
const FIRST = -2;

/**
 * Makes the tag of a small copy that shares a file, a segment, with others. The tag encodes the segment and
 * the first unit of the copy. It is negative, so it is never the tag of a copy that has a file of its own. So
 * a copy in a segment costs no more memory than any other, and no look-up.
 */
export function packedTag(segment: number, offset: number): number {
  return FIRST - (segment * SEGMENT_UNITS + offset / SEGMENT_UNIT);
}

/** Whether a tag was made by `packedTag`. */
export function isPacked(tag: number | undefined): boolean {
  return tag !== undefined && tag <= FIRST;
}

/** Returns the segment of a copy with a packed tag. */
export function segmentOf(tag: number): number {
  return Math.floor((FIRST - tag) / SEGMENT_UNITS);
}

/** Returns the offset of a copy in its file, in bytes. */
export function offsetInFile(tag: number | undefined): number {
  return tag !== undefined && isPacked(tag) ? ((FIRST - tag) % SEGMENT_UNITS) * SEGMENT_UNIT : 0;
}

/**
 * Draws a unique number for a segment: 35 random bits. The index refuses a number that it knows, and it knows
 * a segment until no process takes one of its copies to exist any more.
 */
export function newSegment(): number {
  return randomBytes(NUMBER_BYTES).readUIntBE(0, NUMBER_BYTES) % (2 ** NUMBER_BITS - 1);
}

/** Returns the name of a segment's file. It is the name of a copy with an empty key, which no object has. */
export function segmentName(segment: number): string {
  return copyName('', segment);
}

/** Returns the name of the file that contains a copy. */
export function fileOf(key: string, tag: number): string {
  return isPacked(tag) ? segmentName(segmentOf(tag)) : copyName(key, tag);
}
