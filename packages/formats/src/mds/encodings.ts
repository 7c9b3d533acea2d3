import { isUtf8 } from 'node:buffer';
import { bytesOf, elementsOf, itemBytes, type Dtype } from '../arrays/nd-array.js';
import { parseJson } from '../text/json.js';
import { ndArrays } from './nd-arrays.js';
import type { ValueCodec } from './value-codec.js';

const asTheyAre: ValueCodec = {
  size: undefined,
  decode: (bytes) => bytes,
  encode: (value) => {
    if (!(value instanceof Uint8Array)) throw new Error('it is not a Uint8Array');
    return value;
  },
};

const text: ValueCodec = {
  size: undefined,
  decode: textIn,
  encode: (value) => {
    if (typeof value !== 'string' || !value.isWellFormed()) throw new Error('it is not well-formed text');
    return new TextEncoder().encode(value);
  },
};

const json: ValueCodec = {
  size: undefined,
  decode: (bytes) => parseJson(textIn(bytes)),
  encode: (value) => {
    const written = JSON.stringify(value) as string | undefined;
    if (written === undefined) throw new Error('JSON has no such value');
    return new TextEncoder().encode(written);
  },
};

/** Python writes and reads no longer ones; to read them takes the square of their length. */
const MOST_DIGITS = 4300;

const CODECS: Readonly<Record<string, ValueCodec>> = {
  bytes: asTheyAre,
  jpeg: asTheyAre,
  png: asTheyAre,
  str: text,
  json,
  int: scalar('int64'),
  uint8: scalar('uint8'),
  uint16: scalar('uint16'),
  uint32: scalar('uint32'),
  uint64: scalar('uint64'),
  int8: scalar('int8'),
  int16: scalar('int16'),
  int32: scalar('int32'),
  int64: scalar('int64'),
  float16: scalar('float16'),
  float32: scalar('float32'),
  float64: scalar('float64'),
  str_int: parsed(new RegExp(`^-?\\d{1,${MOST_DIGITS}}$`), BigInt),
  str_float: parsed(/^-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan)$/, pythonFloat),
  str_decimal: parsed(/^/, (written) => written),
  pil: { size: undefined, decode: pilImageIn },
  'list[pil]': { size: undefined, decode: (bytes) => listedIn(bytes).map(pilImageIn) },
  'list[jpeg]': { size: undefined, decode: listedIn },
  'list[png]': { size: undefined, decode: listedIn },
  jpeg_array: { size: undefined, decode: imagesIn },
  jpegarray: { size: undefined, decode: imagesIn },
};

/** How values of an encoding are stored; undefined if it is `pkl`, or one that is not known. */
export function codecOf(encoding: string): ValueCodec | undefined {
  if (Object.hasOwn(CODECS, encoding)) return CODECS[encoding];
  return ndArrays(encoding);
}

/** One number: a bigint if it has 64 bits and no fraction, as in arrays. */
function scalar(dtype: Dtype): ValueCodec {
  const size = itemBytes(dtype);
  return {
    size,
    decode: (bytes) => elementsOf(dtype, bytes)[0],
    encode: (value) => {
      const data = elementsOf(dtype, new Uint8Array(size));
      const isExact = typeof value === typeof data[0] && isIn(data, value as number | bigint, dtype);
      if (!isExact) throw new Error(`it is not ${dtype}`);
      return bytesOf({ dtype, data });
    },
  };
}

/** Puts a number where numbers of its type are kept, and says whether it is there as it was. */
function isIn(data: ReturnType<typeof elementsOf>, value: number | bigint, dtype: Dtype): boolean {
  (data as unknown as (number | bigint)[])[0] = value;
  return dtype.startsWith('float') || data[0] === value;
}

function parsed(form: RegExp, parse: (written: string) => unknown): ValueCodec {
  return {
    size: undefined,
    decode: (bytes) => {
      const written = textIn(bytes);
      if (!form.test(written)) throw new Error('it is not written as such');
      return parse(written);
    },
  };
}

function pythonFloat(written: string): number {
  return Number(written.replace('inf', 'Infinity').replace('nan', 'NaN'));
}

function textIn(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw new Error('it is not UTF-8');
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

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
function pilImageIn(bytes: Uint8Array): PilImage {
  const [width = 0, height = 0, length = Infinity] = numbersIn(bytes, 0, 3);
  if (length > LONGEST_MODE || 12 + length > bytes.byteLength) throw new Error('its mode is cut off');
  const mode = new TextDecoder().decode(Uint8Array.from(bytes.subarray(12, 12 + length)));
  return { width, height, mode, bytes: bytes.subarray(12 + length) };
}

/** The values of a list: four bytes without a meaning, then as images are. @throws Error */
function listedIn(bytes: Uint8Array): Uint8Array[] {
  if (bytes.byteLength < 4) throw new Error('its start is cut off');
  return imagesIn(bytes.subarray(4));
}

/** Several images: how many, the bytes of each, the images. @throws Error */
function imagesIn(bytes: Uint8Array): Uint8Array[] {
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
