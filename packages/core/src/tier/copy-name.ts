import { randomFillSync } from 'node:crypto';

/** Separates the key and the tag. `encoded` never produces it. */
const MARK = '@';
/** In base 36. */
const TAG_DIGITS = 8;
const TAG_BYTES = 5;

/**
 * Many tags are drawn at a time, because a call of the system's generator takes longer than the rest of
 * making a tag.
 */
const random = Buffer.alloc(256 * TAG_BYTES);
let drawn = random.byteLength;

/** Most file systems allow 255 bytes between two slashes, and most buckets 1024 in all. */
const LONGEST_SEGMENT = 200;
const LONGEST = 800;

const PLAIN = /^[a-z0-9._/-]*$/;
/** A segment with a special meaning to file systems, or reserved by the SDK. */
const SPECIAL = /(?<=^|\/)(\.{0,2}|\.tiered)(?=\/|$)/g;

/**
 * Draws a tag that is unique among all copies, of this key or of another one: 40 random bits beside the key.
 * A name is never reused for a second copy. So a reader that still looks for a deleted copy finds nothing,
 * and never other data.
 */
export function newTag(): number {
  if (drawn === random.byteLength) {
    randomFillSync(random);
    drawn = 0;
  }
  const tag = random.readUIntBE(drawn, TAG_BYTES);
  drawn += TAG_BYTES;
  return tag;
}

/**
 * Makes the name of a copy on its tier from the readable key and the tag. The name is lower-case ASCII only,
 * so that it is the same on file systems that fold case or normalise. It has no `.`, `..` or empty segments,
 * so that every key of a bucket has a place in a directory. No name is a parent directory of another.
 */
export function copyName(key: string, tag: number): string {
  return `${encoded(key)}${MARK}${tag.toString(36).padStart(TAG_DIGITS, '0')}`;
}

/** Returns the tag in a name; undefined if `copyName` did not make it. */
export function tagOf(name: string): number | undefined {
  const mark = name.lastIndexOf(MARK);
  const digits = name.slice(mark + 1);
  if (mark === -1 || !/^[0-9a-z]{8}$/.test(digits)) return undefined;
  return Number.parseInt(digits, 36);
}

function encoded(key: string): string {
  const name = PLAIN.test(key) ? key : spelled(key);
  const safe = name.replace(SPECIAL, (segment) => `%${segment}`);
  const isLong = safe.length > LONGEST || safe.split('/').some((segment) => segment.length > LONGEST_SEGMENT);
  // The tag distinguishes such names. This only keeps directories small.
  return isLong ? `%long/${safe.replaceAll('/', '-').slice(0, LONGEST_SEGMENT)}` : safe;
}

/** Encodes upper case as `^a`, and all other special bytes of UTF-8 as `%c3`. */
function spelled(key: string): string {
  let name = '';
  for (const character of key) {
    if (PLAIN.test(character)) name += character;
    else if (/[A-Z]/.test(character)) name += `^${character.toLowerCase()}`;
    else for (const byte of Buffer.from(character)) name += `%${byte.toString(16).padStart(2, '0')}`;
  }
  return name;
}
