import { getFloat16, setFloat16 } from '@petamoriken/float16';
import { endianness } from 'node:os';

/** Where elements of an array are kept, by their type. JavaScript has no memory of `float16` in all Nodes. */
const KEPT_IN = {
  bool: Uint8Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float16: Float32Array,
  float32: Float32Array,
  float64: Float64Array,
} as const;

/** What the elements of an array are, as NumPy calls it. */
export type Dtype = keyof typeof KEPT_IN;

/** Numbers in memory, as arrays have them. */
export type TypedArray =
  | Uint8Array
  | Int8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/** An array of numbers with any number of axes. */
export interface NdArray {
  /**
   * The elements, the last axis first to change (C order). `bool` is in a `Uint8Array`, as 0 and 1, and
   * `float16` in a `Float32Array`, which has all its values.
   */
  readonly data: TypedArray;
  /** The length of each axis. */
  readonly shape: readonly number[];
  /** What the elements are where they are stored. */
  readonly dtype: Dtype;
}

const HALF = 2;
const NATIVE = endianness() === 'LE' ? 'little' : 'big';

/** The order of the bytes of a number. */
export type ByteOrder = 'little' | 'big';

/** Bytes of an element where it is stored. */
export function itemBytes(dtype: Dtype): number {
  return dtype === 'float16' ? HALF : KEPT_IN[dtype].BYTES_PER_ELEMENT;
}

/**
 * The elements that bytes are. A view on them where the processor can read them as they lie, a copy else.
 * @param bytes As many as whole elements have.
 */
export function elementsOf(dtype: Dtype, bytes: Uint8Array, order: ByteOrder = 'little'): TypedArray {
  if (dtype === 'float16') return halvesIn(bytes, order);
  // Its types know either kind of memory, not both at once.
  const Kept = KEPT_IN[dtype] as new (memory: ArrayBufferLike, at: number, length: number) => TypedArray;
  const size = itemBytes(dtype);
  const isSwapped = size > 1 && order !== NATIVE;
  const isView = !isSwapped && bytes.byteOffset % size === 0;
  // A slice of a Buffer would be a view.
  const there = isView ? bytes : new Uint8Array(bytes);
  if (isSwapped) swap(there, size);
  return new Kept(there.buffer, there.byteOffset, there.byteLength / size);
}

/** The bytes of elements as they are stored, little-endian. A copy. */
export function bytesOf({ dtype, data }: Pick<NdArray, 'dtype' | 'data'>): Uint8Array {
  if (dtype === 'float16') {
    const view = new DataView(new ArrayBuffer(HALF * data.length));
    for (const [i, value] of data.entries()) setFloat16(view, HALF * i, Number(value), true);
    return new Uint8Array(view.buffer);
  }
  const bytes = new Uint8Array(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  if (NATIVE === 'big') swap(bytes, data.BYTES_PER_ELEMENT);
  return bytes;
}

/** What is wrong with an array that is to be written, if anything is. */
export function arrayProblem({ data, shape, dtype }: NdArray): string | undefined {
  if (!Object.hasOwn(KEPT_IN, dtype)) return `no dtype that can be written: ${dtype as string}`;
  if (!(data instanceof KEPT_IN[dtype]))
    return `elements of ${dtype} that are not in a ${KEPT_IN[dtype].name}`;
  if (!shape.every((length) => Number.isSafeInteger(length) && length >= 0))
    return `a shape of ${shape.join(', ')}`;
  const size = shape.reduce((product, length) => product * length, 1);
  return size === data.length ? undefined : `${data.length} elements where the shape has ${size}`;
}

function halvesIn(bytes: Uint8Array, order: ByteOrder): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isLittle = order === 'little';
  return Float32Array.from({ length: bytes.byteLength / HALF }, (_, i) =>
    getFloat16(view, HALF * i, isLittle),
  );
}

function swap(bytes: Uint8Array, size: number): void {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (size === 2) buffer.swap16();
  else if (size === 4) buffer.swap32();
  else if (size === 8) buffer.swap64();
}
