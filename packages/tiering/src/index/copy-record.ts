import { copyName, type Checksum } from '@tiered/core/internal';
import type { Copy, CopyContent } from '../tier/tier-store.js';
import type { CopyRow } from '../tier/copy-rows.js';

const SUM_BYTES = 8;

/** The fields of a copy that its record's checksum covers. */
type Described = Pick<CopyRow, 'key' | 'version' | 'size' | 'bytes' | 'chunk'>;

/**
 * Packs the checksums of a copy for the index: XXH64 of each chunk, and one of the copy's fields in the
 * index, because a database does not detect bits that the disk has flipped.
 */
export function packSums(described: Described, sums: readonly bigint[], checksum: Checksum): Uint8Array {
  const packed = Buffer.alloc((sums.length + 1) * SUM_BYTES);
  for (const [index, sum] of sums.entries()) packed.writeBigUInt64LE(sum, index * SUM_BYTES);
  packed.writeBigUInt64LE(
    sumOf(described, packed.subarray(0, -SUM_BYTES), checksum),
    sums.length * SUM_BYTES,
  );
  return packed;
}

/** The copy that a row describes. `content` is undefined if the row is not as it was written. */
export function copyOf(row: CopyRow, dataset: string, checksum: Checksum): Copy {
  const { key, tag, version, bytes } = row;
  return {
    name: copyName(key, tag),
    tag,
    key,
    dataset,
    version,
    bytes,
    content: contentOf(row, checksum),
    row,
  };
}

function contentOf(row: CopyRow, checksum: Checksum): CopyContent | undefined {
  const packed = Buffer.from(row.sums);
  const count = packed.byteLength / SUM_BYTES - 1;
  if (!Number.isInteger(count) || count < 0 || row.chunk < 1) return undefined;
  const rest = packed.subarray(0, count * SUM_BYTES);
  if (packed.readBigUInt64LE(count * SUM_BYTES) !== sumOf(row, rest, checksum)) return undefined;
  const sums = Array.from({ length: count }, (_, index) => packed.readBigUInt64LE(index * SUM_BYTES));
  return { size: row.size, bytes: row.bytes, chunkBytes: row.chunk, sums };
}

function sumOf(
  { key, version, size, bytes, chunk }: Described,
  sums: Uint8Array,
  checksum: Checksum,
): bigint {
  const text = JSON.stringify([key, version, size, bytes, chunk]);
  const length = Buffer.byteLength(text);
  const all = Buffer.allocUnsafe(length + sums.byteLength);
  all.write(text);
  all.set(sums, length);
  return checksum.bytes(all);
}
