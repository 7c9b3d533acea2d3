import { Crc32, Crc32c, Crc64Nvme } from '@aws-sdk/checksums/crc';
import { Sha1, Sha256 } from '@aws-sdk/checksums/sha';

/** Name of a checksum, as in the header `x-amz-checksum-*`. */
export type ChecksumAlgorithm = 'crc32' | 'crc32c' | 'crc64nvme' | 'sha1' | 'sha256';

/**
 * The checksums that S3 knows, computed as by AWS's own SDK. The S3 adapter gets its checksums from other
 * libraries, so that its tests notice a mistake in either.
 */
const CHECKSUMS = {
  crc32: Crc32,
  crc32c: Crc32c,
  crc64nvme: Crc64Nvme,
  sha1: Sha1,
  sha256: Sha256,
} satisfies Record<ChecksumAlgorithm, unknown>;

/** The names of all checksums. */
export const CHECKSUM_ALGORITHMS = Object.keys(CHECKSUMS) as readonly ChecksumAlgorithm[];

/** Whether this is the name of a checksum. */
export function isChecksumAlgorithm(name: string): name is ChecksumAlgorithm {
  return Object.hasOwn(CHECKSUMS, name);
}

/** A checksum of bytes that arrive in pieces. */
export interface RunningChecksum {
  readonly update: (piece: Uint8Array) => void;
  /** In base64, as headers carry it. */
  readonly value: () => Promise<string>;
}

/** Begins a checksum. */
export function newChecksum(algorithm: ChecksumAlgorithm): RunningChecksum {
  const checksum = new CHECKSUMS[algorithm]();
  return {
    update: (piece) => checksum.update(piece),
    value: async () => Buffer.from(await checksum.digest()).toString('base64'),
  };
}

/** Computes a checksum in base64. */
export async function checksumOf(algorithm: ChecksumAlgorithm, bytes: Uint8Array): Promise<string> {
  const checksum = newChecksum(algorithm);
  checksum.update(bytes);
  return checksum.value();
}

/** The headers of the checksums that came with a body, which answers repeat. */
export function givenChecksums(checksums: ReadonlyMap<ChecksumAlgorithm, string>): string[] {
  return [...checksums].flatMap(([algorithm, value]) => [`x-amz-checksum-${algorithm}`, value]);
}
