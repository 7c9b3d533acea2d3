/*
 * The layout of the table, as in src-c/table.h. All numbers are in the order of the machine, which is
 * little-endian wherever the shim is.
 */

export const MAGIC = 'tieredT2';
export const HEADER_BYTES = 4096;
export const ENTRY_BYTES = 64;
/** The most tiers. */
export const MOST_TIERS = 16;
/** The most paths of the root. */
export const MOST_ROOTS = 4;
/** The longest path of a root or a tier, in bytes, with a NUL behind it. */
export const MOST_PATH = 1024;
/** The most slots of a table: the upper half of a hash chooses one. */
export const MOST_SLOTS = 2 ** 32;

/** The offsets of numbers of 64 bits in the header. */
export const IN_HEADER = {
  slots: 8,
  beat: 16,
  isOutdated: 24,
  generation: 32,
  tierCount: 40,
  rootCount: 48,
  rootDevice: 56,
  rootInode: 64,
  isImaginary: 72,
  mounts: 80,
  rootsAway: 88,
  roots: 96,
  tiers: 96 + 8 * MOST_ROOTS,
} as const;
/** Behind the numbers. */
export const FIRST_TEXT = IN_HEADER.tiers + 8 * MOST_TIERS;

/** The offsets of numbers in an entry: of 64 bits, and from `mode` on of 32. */
export const IN_ENTRY = {
  first: 0,
  second: 8,
  place: 16,
  size: 24,
  inode: 32,
  modified: 40,
  mode: 48,
  device: 52,
  user: 56,
  group: 60,
} as const;

/** The level of objects that are in the source alone. */
export const AT_SOURCE = 255;

/** The place at which an object is read: a level, and there the copy that a tag names. */
export interface Place {
  readonly level: number;
  /** 40 bits. */
  readonly tag: number;
}

/** A place as the word of an entry. */
export function placeWord({ level, tag }: Place): bigint {
  return BigInt(level) * 2n ** 40n + BigInt(tag);
}

/** A file's device as the table has it: 12 bits of its major number, and below it 20 of the minor one. */
export function packedDevice(device: bigint): number {
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn);
  const minor = (device & 0xffn) | ((device >> 12n) & ~0xffn);
  return Number(((major & 0xfffn) << 20n) | (minor & 0xfffffn));
}
