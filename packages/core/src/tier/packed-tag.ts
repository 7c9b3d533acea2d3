import { randomBytes } from 'node:crypto';
import { copyName } from './copy-name.js';

/** Copies in a segment begin at multiples of this, in bytes. */
export const SEGMENT_UNIT = 16;
/** Also in `tier/index/thread/schema.js` of tiering, whose thread loads nothing of this package. */
const UNIT_BITS = 18;
/** Units of a segment at most. */
export const SEGMENT_UNITS = 2 ** UNIT_BITS;
/** Bytes of a segment at most: 4 MiB. */
export const SEGMENT_BYTES = SEGMENT_UNIT * SEGMENT_UNITS;

const NUMBER_BITS = 35;
const NUMBER_BYTES = 5;
/**
 * Below the tags of copies with a file of their own, which are not negative, and the number that says that there is
 * none.
 */
const FIRST = -2;

/**
 * Many small copies can be in one file, a segment. The tag of such a copy is a number that says where it is: in which
 * segment, and from which unit on. It is negative, so that it is never the tag of a copy that has a file of its own.
 * With that a copy in a segment costs as much memory as any other, and no look-up.
 */
export function packedTag(segment: number, offset: number): number {
  return FIRST - (segment * SEGMENT_UNITS + offset / SEGMENT_UNIT);
}

/** Whether a tag is one of `packedTag`. */
export function isPacked(tag: number | undefined): boolean {
  return tag !== undefined && tag <= FIRST;
}

/** The segment that a copy with a packed tag is in. */
export function segmentOf(tag: number): number {
  return Math.floor((FIRST - tag) / SEGMENT_UNITS);
}

/** Where a copy begins in its file, in bytes. */
export function offsetInFile(tag: number | undefined): number {
  return tag !== undefined && isPacked(tag) ? ((FIRST - tag) % SEGMENT_UNITS) * SEGMENT_UNIT : 0;
}

/**
 * A number that no other segment has: 35 random bits. The index refuses one that it knows, and it knows a segment until
 * nobody believes in a copy in it any more.
 */
export function newSegment(): number {
  return randomBytes(NUMBER_BYTES).readUIntBE(0, NUMBER_BYTES) % (2 ** NUMBER_BITS - 1);
}

/** The name of a segment's file: that of a copy whose key is empty, as no object's is. */
export function segmentName(segment: number): string {
  return copyName('', segment);
}

/** The name of the file that a copy is in. */
export function fileOf(key: string, tag: number): string {
  return isPacked(tag) ? segmentName(segmentOf(tag)) : copyName(key, tag);
}
