import type { Compressors } from 'hyparquet';
import { compressors, decompressLz4Raw, decompressZstd } from 'hyparquet-compressors';
import zlib from 'node:zlib';

/** What pages that are not compressed are called here, so that hyparquet lets them be looked at too. */
export const NO_CODEC = 'NONE';

/** LZ4 in Hadoop's frames: before each block, its length and how many bytes of it there are. */
const FRAME = 8;

/** Whether pages of a codec can be read. LZO has no library. */
export function isKnownCodec(codec: string): boolean {
  return [NO_CODEC, 'SNAPPY', 'GZIP', 'BROTLI', 'ZSTD', 'LZ4', 'LZ4_RAW'].includes(codec);
}

/**
 * Decompresses a page, to no more than the length that it must have. Node has gzip and brotli; the others
 * come with hyparquet. A page of no bytes is not looked at: writers have one byte for it, or a frame, or
 * nothing.
 */
export function decompressPage(codec: string, input: Uint8Array, length: number): Uint8Array {
  if (length === 0) return new Uint8Array(0);
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
    case 'LZ4':
      return inFrames(input, length) ?? decompressLz4Raw(input, length);
    case 'LZ4_RAW':
      return decompressLz4Raw(input, length);
    default:
      throw new Error(`pages compressed by ${codec} cannot be read`);
  }
}

/**
 * What lies in Hadoop's frames; undefined if there are none. Writers before 2021 took `LZ4` for a page with
 * frames, and some for one without. hyparquet believes whatever a frame claims, and may turn in circles.
 */
function inFrames(input: Uint8Array, length: number): Uint8Array | undefined {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  const output = new Uint8Array(length);
  let [at, end] = [0, 0];
  while (at + FRAME <= input.byteLength) {
    const [size, packed] = [view.getUint32(at), view.getUint32(at + 4)];
    at += FRAME;
    if (packed > input.byteLength - at || size > length - end) return undefined;
    if (size > 0) output.set(decompressLz4Raw(input.subarray(at, at + packed), size), end);
    at += packed;
    end += size;
  }
  return at === input.byteLength && end === length ? output : undefined;
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
