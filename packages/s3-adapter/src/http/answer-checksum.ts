import type { IncomingHttpHeaders } from 'node:http';
import { headerOf } from './answers.js';
import { loadChecksums, type ChecksumAlgorithm } from './checksums.js';

/** The checksums that can be verified, the cheapest first. */
const ALGORITHMS: readonly ChecksumAlgorithm[] = ['crc32c', 'crc32', 'crc64nvme', 'sha1', 'sha256'];

/** The checksum of an object, from the headers of an answer. */
export interface Checksum {
  /** Whether the object's bytes have this checksum. */
  matches(bytes: Uint8Array): Promise<boolean>;
}

/** The checksum in an answer's headers; undefined if there is none of the whole object's bytes. */
export function checksumIn(headers: IncomingHttpHeaders): Checksum | undefined {
  // A checksum of the checksums of parts, whose bounds are not known any more.
  if (headerOf(headers, 'x-amz-checksum-type') === 'COMPOSITE') return undefined;
  for (const algorithm of ALGORITHMS) {
    const value = headerOf(headers, `x-amz-checksum-${algorithm}`);
    if (value === undefined || /-\d+$/.test(value)) continue;
    return { matches: async (bytes) => (await loadChecksums())(algorithm, bytes) === value };
  }
  return undefined;
}
