import { fileOf, isPacked, offsetInFile, type Checksum } from '@tiered/core/internal';
import type { Copy, CopyContent } from '../tier/tier-store.js';

/** The file that holds a copy, and where in it the copy begins, in bytes. */
export interface CopyPosition {
  readonly file: string;
  readonly base: number;
}

/** Where the bytes of a copy are. */
export function positionOf({ key, name, tag }: Copy): CopyPosition {
  return { file: tag !== undefined && isPacked(tag) ? fileOf(key, tag) : name, base: offsetInFile(tag) };
}

/** What has to be read to check a chunk, and how long the chunk itself is. */
export interface ChunkRange {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
  readonly bytes: number;
}

/** Where a chunk of a copy is, for `wrongWith`. */
export function rangeOfChunk(
  copy: Copy,
  { bytes: size, chunkBytes, sums }: CopyContent,
  chunk: number,
): ChunkRange {
  const { file, base } = positionOf(copy);
  const offset = chunk * chunkBytes;
  const bytes = Math.min(chunkBytes, size - offset);
  // One byte more than the last chunk has: a file that is longer than it was fills the tier with bytes that
  // nobody counts.
  const endsFile = copy.tailBytes === undefined && !isPacked(copy.tag);
  const beyond = chunk === sums.length - 1 && endsFile ? 1 : 0;
  return { file, offset: base + offset, length: bytes + beyond, bytes };
}

/** Says what is wrong with the bytes that were read of a chunk; undefined if nothing is. */
export function wrongWith(
  bytes: Uint8Array,
  range: ChunkRange,
  { sums }: CopyContent,
  chunk: number,
  checksum: Checksum,
): string | undefined {
  if (bytes.byteLength !== range.bytes)
    return `chunk ${chunk} gave ${bytes.byteLength} bytes where it has ${range.bytes}`;
  return checksum.bytes(bytes) === sums[chunk] ? undefined : `chunk ${chunk} has another checksum`;
}
