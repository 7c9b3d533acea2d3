/** An image as Pillow keeps it: raw, without a header of its own. */
export interface PilImage {
  readonly width: number;
  readonly height: number;
  /** Pillow's name of what a pixel is, such as `RGB` and `L`. */
  readonly mode: string;
  /** The pixels, row by row, as `Image.tobytes` gives them. */
  readonly bytes: Uint8Array;
}

/** Names of modes are short. */
const LONGEST_MODE = 16;

/** @throws Error if bytes are no raw image. */
export function pilImageIn(bytes: Uint8Array): PilImage {
  const [width = 0, height = 0, length = Infinity] = numbersIn(bytes, 0, 3);
  if (length > LONGEST_MODE || 12 + length > bytes.byteLength) throw new Error('its mode is cut off');
  const mode = new TextDecoder().decode(Uint8Array.from(bytes.subarray(12, 12 + length)));
  return { width, height, mode, bytes: bytes.subarray(12 + length) };
}

/** The values of a list: four bytes without a meaning, then as images are. @throws Error */
export function listedIn(bytes: Uint8Array): Uint8Array[] {
  if (bytes.byteLength < 4) throw new Error('its start is cut off');
  return imagesIn(bytes.subarray(4));
}

/** Several images: how many, the bytes of each, the images. @throws Error */
export function imagesIn(bytes: Uint8Array): Uint8Array[] {
  const [count = 0] = numbersIn(bytes, 0, 1);
  const lengths = numbersIn(bytes, 4, count);
  let end = 4 + 4 * count;
  const images = lengths.map((length) => bytes.subarray(end, (end += length)));
  if (end !== bytes.byteLength) throw new Error(`${end} bytes are announced, and ${bytes.byteLength} there`);
  return images;
}

function numbersIn(bytes: Uint8Array, at: number, count: number): number[] {
  if (at + 4 * count > bytes.byteLength) throw new Error('its start is cut off');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: count }, (_, i) => view.getUint32(at + 4 * i, true));
}
