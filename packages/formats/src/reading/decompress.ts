import type { TieredError } from '@tiered/core';
import { memoryFor } from '@tiered/core/internal';
import { pipeline } from 'node:stream/promises';
import zlib from 'node:zlib';
import { damaged } from '../contract/format.js';
import { unsnappied, unzstd } from './all-at-once.js';

/** How a whole object is compressed. */
export type Codec = 'gzip' | 'zlib' | 'zstd' | 'brotli' | 'snappy';

/** Codecs that no first bytes tell of, by how the names of such objects end. */
const ENDINGS: readonly (readonly [ending: string, codec: Codec])[] = [
  ['.br', 'brotli'],
  ['.snappy', 'snappy'],
];

/** Bytes that the decompressor gives at a time. */
const CHUNK = 256 * 1024;

/** By its first bytes, how something seems to be compressed. Other bytes may look so by chance. */
export function codecOf(bytes: Uint8Array): Codec | undefined {
  const [first = 0, second = 0, third = 0] = bytes;
  if (first === 0x1f && second === 0x8b && third === 8) return 'gzip';
  if (first === 0x28 && second === 0xb5 && third === 0x2f && bytes[3] === 0xfd) return 'zstd';
  const isDeflate = (first & 0x0f) === 8 && first >> 4 <= 7 && (first * 256 + second) % 31 === 0;
  return isDeflate ? 'zlib' : undefined;
}

/** By its name, how something seems to be compressed. */
export function codecNamed(key: string): Codec | undefined {
  return ENDINGS.find(([ending]) => key.endsWith(ending))?.[1];
}

/** What is decompressed, and within which bounds. */
export interface DecompressOptions {
  readonly codec: Codec;
  /** More than these bytes are not decompressed. */
  readonly maxBytes: number;
  /** What is compressed, for errors. */
  readonly at: { readonly key: string; readonly offset: number };
}

/**
 * Decompresses all of something, in Node's pool of threads; snappy, and zstd where Node has none, in this
 * one. Holds what comes out of it twice for a moment, and never more than `maxBytes` of it.
 * @returns The bytes; or the damage, if it is not compressed so, is cut off or followed by other bytes, or
 * is more than `maxBytes`.
 * @throws What the pieces throw.
 */
export async function decompress(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { codec, maxBytes, at }: DecompressOptions,
): Promise<Uint8Array | TieredError> {
  const tooMuch = tooLarge(at, maxBytes);
  const decompressor = decompressorFor(codec);
  if (decompressor === undefined) return inOne(pieces, { codec, maxBytes, at }, tooMuch);
  const compressed = { bytes: 0 };
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    await pipeline(counted(pieces, compressed), decompressor, async (output: AsyncIterable<Uint8Array>) => {
      for await (const chunk of output) {
        size += chunk.byteLength;
        if (size > maxBytes) throw tooMuch;
        chunks.push(chunk);
      }
    });
  } catch (error) {
    if (error === tooMuch) return tooMuch;
    if (!isZlibError(error)) throw error;
    return notWhole(at, codec, error);
  }
  if (decompressor.bytesWritten !== compressed.bytes) {
    const rest = compressed.bytes - decompressor.bytesWritten;
    return damaged(at, `${rest} bytes follow behind its ${codec} data`, 'Write or fetch the object again.');
  }
  return joined(chunks, size);
}

/** Node has zstd from 22.15 and 23.8 on, which its types of Node 20 do not know. */
const { createZstdDecompress } = zlib as {
  createZstdDecompress?: (options: zlib.ZlibOptions) => zlib.Gunzip;
};

function decompressorFor(codec: Codec): zlib.Gunzip | zlib.Inflate | zlib.BrotliDecompress | undefined {
  if (codec === 'gzip') return zlib.createGunzip({ chunkSize: CHUNK });
  if (codec === 'zlib') return zlib.createInflate({ chunkSize: CHUNK });
  if (codec === 'brotli') return zlib.createBrotliDecompress({ chunkSize: CHUNK });
  return codec === 'zstd' ? createZstdDecompress?.({ chunkSize: CHUNK }) : undefined;
}

/** By a library that decompresses all at once. */
async function inOne(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { codec, maxBytes, at }: DecompressOptions,
  tooMuch: TieredError,
): Promise<Uint8Array | TieredError> {
  const chunks: Uint8Array[] = [];
  for await (const piece of pieces) chunks.push(piece);
  const compressed = Buffer.concat(chunks);
  try {
    return (codec === 'snappy' ? unsnappied(compressed, maxBytes) : unzstd(compressed, maxBytes)) ?? tooMuch;
  } catch (error) {
    // Errors of their own: they read memory only.
    return notWhole(at, codec, error as Error);
  }
}

/** In memory of its own, unlike what `Buffer.concat` makes of little. */
function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const all = memoryFor(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}

async function* counted(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  total: { bytes: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of pieces) {
    total.bytes += piece.byteLength;
    yield piece;
  }
}

function isZlibError(error: unknown): error is Error {
  return (
    error instanceof Error &&
    'code' in error &&
    /^(Z_|ZSTD_|ERR__?ERROR_|ERR_BROTLI)/.test(String(error.code))
  );
}

function notWhole(at: DecompressOptions['at'], codec: Codec, error: Error): TieredError {
  const problem = `it is not whole as ${codec}: ${error.message}`;
  return damaged(at, problem, 'Write or fetch the object again.', error);
}

function tooLarge(at: DecompressOptions['at'], maxBytes: number): TieredError {
  return damaged(
    at,
    `decompressed it has more than the ${maxBytes} bytes that maxBytes allows`,
    'Raise maxBytes if such objects are expected, or write smaller ones.',
  );
}
