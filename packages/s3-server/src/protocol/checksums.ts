import { createHash } from 'node:crypto';
import { crc32, crc32c } from '@node-rs/crc32';
import { createCRC64 } from 'hash-wasm';

/** The checksums that S3 knows. */
export const CHECKSUM_ALGORITHMS = ['crc32', 'crc32c', 'crc64nvme', 'sha1', 'sha256'] as const;

/** Name of a checksum, as in the header `x-amz-checksum-*`. */
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];

/** Computes a checksum in base64, as headers carry it. */
export type ChecksumFunction = (algorithm: ChecksumAlgorithm, bytes: Uint8Array) => string;

/** The polynomial of CRC-64/NVME, reflected. */
const CRC64NVME = '9a6c9329ac4bc9b5';

let loaded: Promise<ChecksumFunction> | undefined;

/** Loads the function that computes checksums. Compiles what crc64nvme needs, once. */
export function loadChecksums(): Promise<ChecksumFunction> {
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

/** Whether this is the name of a checksum. */
export function isChecksumAlgorithm(name: string): name is ChecksumAlgorithm {
  return (CHECKSUM_ALGORITHMS as readonly string[]).includes(name);
}

function base64(word: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(word);
  return bytes.toString('base64');
}
