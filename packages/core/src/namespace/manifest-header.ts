import type { Checksum } from '../support/checksum.js';

/**
 * A manifest begins with its header. Numbers are little endian:
 *
 *      0  8 bytes   "TIEREDNS"
 *      8  4         format
 *     12  4         bytes of the header, the checksum at its end included
 *     16  8         entries
 *     24  8         bytes of records
 *     32  4         bytes of the identity
 *     36  4         number of sections
 *     40            the identity, in UTF-8
 *         8 each    the checksums of the sections
 *         8         the checksum of the header up to here
 *
 * The sections follow without gaps. Every format keeps the first 16 bytes and the checksum at the header's
 * end, so that the manifest of a later release can be told from a damaged one.
 */
export interface ManifestHeader {
  readonly format: number;
  readonly count: number;
  readonly recordBytes: number;
  readonly identity: string;
  readonly checksums: readonly bigint[];
}

const MAGIC = 'TIEREDNS';
/** Changes whenever the sections do: the layout of records, and the length of pages. */
export const FORMAT = 1;
export const PREAMBLE_BYTES = 16;
const FIELDS_BYTES = 40;
const CHECKSUM_BYTES = 8;
/** Far above the needs of 16 GiB of records, and far below a burden. */
const MAX_HEADER_BYTES = 2 ** 20;
/** In bytes. An identity is a name, not a text, and the header has a limit. */
export const LONGEST_IDENTITY = 4096;

/** The number of bytes of the header to be written. */
export function headerBytes(identity: string, sections: number): number {
  return FIELDS_BYTES + Buffer.byteLength(identity) + (sections + 1) * CHECKSUM_BYTES;
}

/** Encodes a header of this format. */
export function encodeHeader(header: Omit<ManifestHeader, 'format'>, checksum: Checksum): Uint8Array {
  const { count, recordBytes, identity, checksums } = header;
  const bytes = Buffer.alloc(headerBytes(identity, checksums.length));
  bytes.write(MAGIC, 0);
  bytes.writeUInt32LE(FORMAT, 8);
  bytes.writeUInt32LE(bytes.length, 12);
  bytes.writeBigUInt64LE(BigInt(count), 16);
  bytes.writeBigUInt64LE(BigInt(recordBytes), 24);
  bytes.writeUInt32LE(Buffer.byteLength(identity), 32);
  bytes.writeUInt32LE(checksums.length, 36);
  bytes.write(identity, FIELDS_BYTES);
  let at = FIELDS_BYTES + Buffer.byteLength(identity);
  for (const sum of checksums) at = bytes.writeBigUInt64LE(sum, at);
  bytes.writeBigUInt64LE(checksum.bytes(bytes.subarray(0, at)), at);
  return bytes;
}

/** Returns the length of the header that these bytes begin; undefined if they begin none. */
export function announcedBytes(preamble: Buffer): number | undefined {
  const bytes = preamble.readUInt32LE(12);
  const plausible = bytes >= FIELDS_BYTES + CHECKSUM_BYTES && bytes <= MAX_HEADER_BYTES;
  return plausible && preamble.toString('latin1', 0, 8) === MAGIC ? bytes : undefined;
}

/**
 * Decodes the header; undefined if its checksum is wrong, or its parts do not add up. Of another format only
 * the format is known.
 */
export function decodeHeader(
  bytes: Buffer,
  checksum: Checksum,
): ManifestHeader | { readonly format: number } | undefined {
  const end = bytes.length - CHECKSUM_BYTES;
  if (checksum.bytes(bytes.subarray(0, end)) !== bytes.readBigUInt64LE(end)) return undefined;
  const format = bytes.readUInt32LE(8);
  if (format !== FORMAT) return { format };
  const identityBytes = bytes.readUInt32LE(32);
  const sections = bytes.readUInt32LE(36);
  if (FIELDS_BYTES + identityBytes + sections * CHECKSUM_BYTES !== end) return undefined;
  const first = FIELDS_BYTES + identityBytes;
  return {
    format,
    count: Number(bytes.readBigUInt64LE(16)),
    recordBytes: Number(bytes.readBigUInt64LE(24)),
    identity: bytes.toString('utf8', FIELDS_BYTES, first),
    checksums: Array.from({ length: sections }, (_, i) => bytes.readBigUInt64LE(first + i * CHECKSUM_BYTES)),
  };
}
