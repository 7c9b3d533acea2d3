import { randomBytes } from 'node:crypto';
import { copyName } from './copy-name.js';

/** Copies in a segment begin at multiples of this, in bytes. */
export const SEGMENT_UNIT = 16;
/**
 * `index/thread/schema.js` of tiering has the same number, because its thread loads nothing of this
 * package.
 */
const UNIT_BITS = 18;
/** The most units of a segment. */
export const SEGMENT_UNITS = 2 ** UNIT_BITS;
/** The most bytes of a segment: 4 MiB. */
export const SEGMENT_BYTES = SEGMENT_UNIT * SEGMENT_UNITS;

const NUMBER_BITS = 35;
const NUMBER_BYTES = 5;
/**
 * Lies below the tags of copies with a file of their own, which are not negative, and below the number that
 * means no tag.
 */
const FIRST = -2;

/**
 * Makes the tag of a small copy that shares a file, a segment, with others. The tag says in which segment the
 * copy is, and from which unit on. It is negative, so it is never the tag of a copy that has a file of its
 * own. So a copy in a segment costs as much memory as any other, and no look-up.
 */
export function packedTag(segment: number, offset: number): number {
  return FIRST - (segment * SEGMENT_UNITS + offset / SEGMENT_UNIT);
}

/** Whether a tag was made by `packedTag`. */
export function isPacked(tag: number | undefined): boolean {
  return tag !== undefined && tag <= FIRST;
}

/** Returns the segment that a copy with a packed tag is in. */
export function segmentOf(tag: number): number {
  return Math.floor((FIRST - tag) / SEGMENT_UNITS);
}

/** Returns where a copy begins in its file, in bytes. */
export function offsetInFile(tag: number | undefined): number {
  return tag !== undefined && isPacked(tag) ? ((FIRST - tag) % SEGMENT_UNITS) * SEGMENT_UNIT : 0;
}

/**
 * Draws a number that no other segment has: 35 random bits. The index refuses a number that it knows, and it
 * knows a segment until nobody takes one of its copies to exist any more.
 */
export function newSegment(): number {
  return randomBytes(NUMBER_BYTES).readUIntBE(0, NUMBER_BYTES) % (2 ** NUMBER_BITS - 1);
}

/** Returns the name of a segment's file. It is the name of a copy with an empty key, which no object has. */
export function segmentName(segment: number): string {
  return copyName('', segment);
}

/** Returns the name of the file that a copy is in. */
export function fileOf(key: string, tag: number): string {
  return isPacked(tag) ? segmentName(segmentOf(tag)) : copyName(key, tag);
}
