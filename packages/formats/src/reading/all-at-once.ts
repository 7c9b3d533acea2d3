import { memoryFor } from '@tiered/core/internal';
import { Decompress, decompress } from 'fzstd';
import { decompressSnappy } from 'hyparquet-compressors';

/** Bytes that one byte of snappy can be, at most: a copy of 64 bytes takes three. */
const SNAPPY_RATIO = 64;
/** A window of zstd that is larger is refused, as Node does. */
const LARGEST_WINDOW = 2 ** 27;

/**
 * Decompresses snappy without a frame. Such data begin with their length.
 * @returns Undefined if it has more than `maxBytes`.
 * @throws Error if it is damaged.
 */
export function unsnappied(bytes: Uint8Array, maxBytes: number): Uint8Array | undefined {
  let length = 0;
  for (let i = 0; ; i++) {
    const byte = bytes[i];
    if (byte === undefined || i > 4) throw new Error('its length is cut off');
    length += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) break;
  }
  if (length > SNAPPY_RATIO * bytes.byteLength) throw new Error(`it cannot have ${length} bytes`);
  return length > maxBytes ? undefined : new Uint8Array(decompressSnappy(bytes, length));
}

/**
 * Decompresses zstd, for a Node that has none. Checksums of frames are not compared.
 * @returns Undefined if it has more than `maxBytes`.
 * @throws Error if it is damaged.
 */
export function unzstd(bytes: Uint8Array, maxBytes: number): Uint8Array | undefined {
  const { content, window } = frameOf(bytes);
  if (content !== undefined && content > maxBytes) return undefined;
  if (window > LARGEST_WINDOW) throw new Error(`its window has ${window} bytes`);
  if (content !== undefined) {
    try {
      // Many times as fast, since no window has to be kept.
      const whole = decompress(bytes, memoryFor(content));
      if (whole.byteLength === content) return whole;
    } catch {
      // So it ends also where several frames follow one another.
    }
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  const stream = new Decompress((chunk) => {
    size += chunk.byteLength;
    if (size > maxBytes) throw TOO_MUCH;
    chunks.push(chunk);
  });
  try {
    stream.push(bytes, true);
  } catch (error) {
    if (error === TOO_MUCH) return undefined;
    throw error;
  }
  return new Uint8Array(Buffer.concat(chunks, size));
}

const TOO_MUCH = new Error('more than allowed');

/** What the header of a frame says: bytes of its content, if it says that, and of the window. */
function frameOf(bytes: Uint8Array): { readonly content: number | undefined; readonly window: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const about = view.getUint8(4);
  const isSingle = (about & 0x20) !== 0;
  const descriptor = isSingle ? 0 : view.getUint8(5);
  const window = 2 ** (10 + (descriptor >> 3)) * (1 + (descriptor & 7) / 8);
  const at = (isSingle ? 5 : 6) + ([0, 1, 2, 4][about & 3] ?? 0);
  const sizes = [
    () => (isSingle ? view.getUint8(at) : undefined),
    () => view.getUint16(at, true) + 256,
    () => view.getUint32(at, true),
    () => Number(view.getBigUint64(at, true)),
  ];
  return { content: sizes[about >> 6]?.(), window };
}
