import { checksumOf, type ChecksumAlgorithm } from '@tiered/gateway/internal';

/** Computes the checksum over the checksums of parts. It ends with the number of parts: `BASE64-3`. */
export async function compositeOf(
  algorithm: ChecksumAlgorithm,
  parts: readonly Uint8Array[],
): Promise<string> {
  const sums = await Promise.all(parts.map((part) => checksumOf(algorithm, part)));
  const all = Buffer.concat(sums.map((sum) => Buffer.from(sum, 'base64')));
  return `${await checksumOf(algorithm, all)}-${parts.length}`;
}
