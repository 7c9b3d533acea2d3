import { Crc32, Crc32c, Crc64Nvme } from '@aws-sdk/checksums/crc';
import { Sha1, Sha256 } from '@aws-sdk/checksums/sha';

/**
 * The checksums that S3 knows, as AWS's own SDK computes them. The adapter under test has its checksums from
 * other libraries, so that a mistake in one of the two does not go unseen.
 */
const CHECKSUMS = { crc32: Crc32, crc32c: Crc32c, crc64nvme: Crc64Nvme, sha1: Sha1, sha256: Sha256 };

/** Name of a checksum, as in the header `x-amz-checksum-*`. */
export type ChecksumAlgorithm = keyof typeof CHECKSUMS;

/** The names of all checksums. */
export const CHECKSUM_ALGORITHMS = Object.keys(CHECKSUMS) as readonly ChecksumAlgorithm[];

/** Whether this is the name of a checksum. */
export function isChecksumAlgorithm(name: string): name is ChecksumAlgorithm {
  return Object.hasOwn(CHECKSUMS, name);
}

/** Computes a checksum in base64, as headers carry it. */
export async function checksumOf(algorithm: ChecksumAlgorithm, bytes: Uint8Array): Promise<string> {
  const checksum = new CHECKSUMS[algorithm]();
  checksum.update(bytes);
  return Buffer.from(await checksum.digest()).toString('base64');
}

/** Computes the checksum over the checksums of parts. It ends with how many they are: `BASE64-3`. */
export async function compositeOf(
  algorithm: ChecksumAlgorithm,
  parts: readonly Uint8Array[],
): Promise<string> {
  const sums = await Promise.all(parts.map((part) => checksumOf(algorithm, part)));
  const all = Buffer.concat(sums.map((sum) => Buffer.from(sum, 'base64')));
  return `${await checksumOf(algorithm, all)}-${parts.length}`;
}
