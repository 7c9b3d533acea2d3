import { createHash } from 'node:crypto';
import { crc32, crc32c } from '@node-rs/crc32';
import { createCRC64 } from 'hash-wasm';
import type { IncomingHttpHeaders } from 'node:http';
import { headerOf } from './answers.js';

/** Name of a checksum that S3 knows, as the suffix of the header `x-amz-checksum-*`. */
type ChecksumAlgorithm = 'crc32' | 'crc32c' | 'crc64nvme' | 'sha1' | 'sha256';

/** A checksum in base64, as headers carry it. */
type ChecksumFunction = (algorithm: ChecksumAlgorithm, bytes: Uint8Array) => string;

/** CRC-64/NVME, its polynomial reflected. */
const CRC64NVME = '9a6c9329ac4bc9b5';

let loaded: Promise<ChecksumFunction> | undefined;

/** Loads the function that computes checksums, and compiles the code for crc64nvme before the first use. */
function loadChecksums(): Promise<ChecksumFunction> {
  return (loaded ??= load());
}

async function load(): Promise<ChecksumFunction> {
  const crc64 = await createCRC64(CRC64NVME);
  return (algorithm, bytes) => {
    switch (algorithm) {
      case 'crc32':
        return base64(crc32(bytes));
      case 'crc32c':
        return base64(crc32c(bytes));
      case 'crc64nvme':
        return Buffer.from(crc64.init().update(bytes).digest('binary')).toString('base64');
      case 'sha1':
      case 'sha256':
        return createHash(algorithm).update(bytes).digest('base64');
    }
  };
}

function base64(word: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(word);
  return bytes.toString('base64');
}

/** The checksums that can be verified, cheapest first. */
const ALGORITHMS: readonly ChecksumAlgorithm[] = ['crc32c', 'crc32', 'crc64nvme', 'sha1', 'sha256'];

/** The checksum of an object, from the headers of an answer. */
export interface Checksum {
  /** Whether the object's bytes have this checksum. */
  matches(bytes: Uint8Array): Promise<boolean>;
}

/** The checksum in an answer's headers. Undefined if there is none over the whole object's bytes. */
export function checksumIn(headers: IncomingHttpHeaders): Checksum | undefined {
  // A checksum of the checksums of parts, whose bounds are no longer known.
  if (headerOf(headers, 'x-amz-checksum-type') === 'COMPOSITE') return undefined;
  for (const algorithm of ALGORITHMS) {
    const value = headerOf(headers, `x-amz-checksum-${algorithm}`);
    if (value === undefined || /-\d+$/.test(value)) continue;
    return { matches: async (bytes) => (await loadChecksums())(algorithm, bytes) === value };
  }
  return undefined;
}
