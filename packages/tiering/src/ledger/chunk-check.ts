import { fileOf, isPacked, offsetInFile, type Checksum } from '@tiered/core/internal';
import type { Copy, CopyContent } from '../tier/tier-store.js';

/** The file that holds a copy, and the copy's offset in it in bytes. */
export interface CopyPosition {
  readonly file: string;
  readonly base: number;
}

/** The position of a copy. */
export function positionOf({ key, name, tag }: Copy): CopyPosition {
  return { file: tag !== undefined && isPacked(tag) ? fileOf(key, tag) : name, base: offsetInFile(tag) };
}

/** The range to read to check a chunk, and the length of the chunk itself. */
export interface ChunkRange {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
  readonly bytes: number;
}

/** The range of a chunk of a copy, for `wrongWith`. */
export function rangeOfChunk(
  copy: Copy,
  { bytes: size, chunkBytes, sums }: CopyContent,
  chunk: number,
): ChunkRange {
  const { file, base } = positionOf(copy);
  const offset = chunk * chunkBytes;
  const bytes = Math.min(chunkBytes, size - offset);
  // One byte more than the last chunk has, to notice a file that has grown: its extra bytes fill the tier and
  // are not counted.
  const endsFile = copy.tailBytes === undefined && !isPacked(copy.tag);
  const beyond = chunk === sums.length - 1 && endsFile ? 1 : 0;
  return { file, offset: base + offset, length: bytes + beyond, bytes };
}

/** Describes the fault in the bytes read for a chunk; undefined if there is none. */
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
