import type { Compressors } from 'hyparquet';
import { compressors, decompressLz4Raw, decompressZstd } from 'hyparquet-compressors';
import zlib from 'node:zlib';

/** What pages that are not compressed are called here, so that hyparquet lets them be looked at too. */
export const NO_CODEC = 'NONE';

/**
 * Decompresses a page, to no more than the length that it must have. Node has gzip and brotli; the others
 * come with hyparquet. LZ4 with Hadoop's frames, which was given up in 2021, is not there.
 */
export function decompressPage(codec: string, input: Uint8Array, length: number): Uint8Array {
  switch (codec) {
    case NO_CODEC:
      return input;
    case 'SNAPPY':
      return known(compressors.SNAPPY)(input, length);
    case 'GZIP':
      return exact(zlib.gunzipSync(input, { maxOutputLength: Math.max(length, 1) }));
    case 'BROTLI':
      return exact(zlib.brotliDecompressSync(input, { maxOutputLength: Math.max(length, 1) }));
    case 'ZSTD':
      return decompressZstd(input, new Uint8Array(length));
    case 'LZ4_RAW':
      return decompressLz4Raw(input, length);
    default:
      throw new Error(`pages compressed by ${codec} cannot be read`);
  }
}

/** In memory of its own: a length in damaged bytes must not show what else is in the memory of others. */
function exact(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes);
}

function known<F>(decompress: F | undefined): F {
  if (decompress === undefined) throw new Error('hyparquet-compressors has no snappy');
  return decompress;
}

/** The functions that hyparquet calls for the pages of each codec. */
export function codecsWith(
  decompress: (codec: string, input: Uint8Array, length: number) => Uint8Array,
): Compressors {
  const names = [NO_CODEC, 'SNAPPY', 'GZIP', 'BROTLI', 'ZSTD', 'LZ4', 'LZ4_RAW', 'LZO'];
  return Object.fromEntries(
    names.map((name) => [name, (input: Uint8Array, length: number) => decompress(name, input, length)]),
  );
}
