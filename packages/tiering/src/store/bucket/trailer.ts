import { TieredError, type StorageDriver } from '@tiered/core';
import type { Checksum } from '@tiered/core/internal';
import type { CopyContent, CopyIdentity } from '../../tier/tier-store.js';

/** The description of a copy in the trailer behind its bytes. */
export interface Described extends CopyIdentity, Omit<CopyContent, 'sums'> {}

const SUM_BYTES = 8;
/** The end of the trailer: XXH64 of everything before it, and the length of that in bytes. */
const FOOTER_BYTES = 12;
/** Bytes that are read first. Most trailers are shorter. */
const MOSTLY_BYTES = 1024;

/** Bytes of the trailer of a copy. */
export function trailerBytes(described: Described): number {
  return headOf(described).byteLength + chunksOf(described) * SUM_BYTES + FOOTER_BYTES;
}

/**
 * Makes the trailer of a copy, for storage without an index: identity and sizes as JSON with a line end, the
 * checksum of each chunk, and a checksum of all that.
 */
export function trailerOf(described: Described, sums: readonly bigint[], checksum: Checksum): Uint8Array {
  const head = headOf(described);
  const trailer = Buffer.alloc(head.byteLength + sums.length * SUM_BYTES + FOOTER_BYTES);
  head.copy(trailer);
  for (const [index, sum] of sums.entries())
    trailer.writeBigUInt64LE(sum, head.byteLength + index * SUM_BYTES);
  const length = trailer.byteLength - FOOTER_BYTES;
  trailer.writeBigUInt64LE(checksum.bytes(trailer.subarray(0, length)), length);
  trailer.writeUInt32LE(length, length + SUM_BYTES);
  return trailer;
}

/**
 * Reads the trailer of a copy.
 * @param name The name of the copy.
 * @param size Bytes under that name.
 * @throws TieredError `TIERED_DATA_CORRUPT` if the trailer is not as it was written. Errors of the driver are
 * passed through.
 */
export async function readTrailer(
  driver: StorageDriver,
  name: string,
  size: number,
  checksum: Checksum,
): Promise<Described & CopyContent> {
  let end = Buffer.from(await readEnd(driver, name, size, Math.min(size, MOSTLY_BYTES)));
  const length = end.byteLength < FOOTER_BYTES ? -1 : end.readUInt32LE(end.byteLength - 4);
  const wanted = length + FOOTER_BYTES;
  if (wanted > end.byteLength && wanted <= size) end = Buffer.from(await readEnd(driver, name, size, wanted));
  const trailer = end.subarray(end.byteLength - wanted);
  const described = length < 0 || wanted > end.byteLength ? undefined : parse(trailer, checksum);
  if (described !== undefined && described.bytes + wanted === size) return described;
  throw new TieredError('TIERED_DATA_CORRUPT', `${driver.name}: ${name} does not end as a copy does.`, {
    driver: driver.name,
    operation: 'read',
    key: name,
  });
}

function parse(trailer: Buffer, checksum: Checksum): (Described & CopyContent) | undefined {
  const length = trailer.byteLength - FOOTER_BYTES;
  const body = trailer.subarray(0, length);
  if (checksum.bytes(body) !== trailer.readBigUInt64LE(length)) return undefined;
  // A trailer with the right checksum was written by this code, and has its form.
  const headBytes = body.indexOf('\n') + 1;
  const described = JSON.parse(body.subarray(0, headBytes).toString()) as Described;
  const count = (length - headBytes) / SUM_BYTES;
  const sums = Array.from({ length: count }, (_, index) =>
    body.readBigUInt64LE(headBytes + index * SUM_BYTES),
  );
  return { ...described, sums };
}

function headOf({ dataset, key, version, size, bytes, chunkBytes }: Described): Buffer {
  return Buffer.from(`${JSON.stringify({ dataset, key, version, size, bytes, chunkBytes })}\n`);
}

function chunksOf({ bytes, chunkBytes }: Described): number {
  return Math.ceil(bytes / chunkBytes);
}

function readEnd(driver: StorageDriver, name: string, size: number, length: number): Promise<Uint8Array> {
  return driver.read(name, { offset: size - length, length });
}
