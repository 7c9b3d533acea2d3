import { createHash } from 'node:crypto';
import { crc32, crc32c } from '@node-rs/crc32';
import { createCRC64 } from 'hash-wasm';

/** Name of a checksum that S3 knows, as it ends the header `x-amz-checksum-*`. */
export type ChecksumAlgorithm = 'crc32' | 'crc32c' | 'crc64nvme' | 'sha1' | 'sha256';

/** A checksum in base64, as headers carry it. */
export type ChecksumFunction = (algorithm: ChecksumAlgorithm, bytes: Uint8Array) => string;

/** CRC-64/NVME, its polynomial reflected. */
const CRC64NVME = '9a6c9329ac4bc9b5';

let loaded: Promise<ChecksumFunction> | undefined;

/** Loads the function that computes checksums, and compiles what crc64nvme needs before the first use. */
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

function base64(word: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(word);
  return bytes.toString('base64');
}
