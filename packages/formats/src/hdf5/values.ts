import { elementsOf, itemBytes, type Dtype, type NdArray } from '../arrays/nd-array.js';
import type { Hdf5File, Metadata, Part } from './library.js';

/** A value of a sample: an array of numbers, text, or texts in C order where a value has axes. */
export type Hdf5Value = NdArray | string | readonly string[];

/**
 * What the elements of a dataset are. The library gives numbers little-endian, as WebAssembly's are.
 * `pointers`: their bytes lie elsewhere, behind what is in the dataset.
 */
export type Elements =
  | { readonly kind: 'numbers'; readonly dtype: Dtype; readonly size: number }
  | { readonly kind: 'text'; readonly isUtf8: boolean; readonly size: number }
  | { readonly kind: 'text pointers'; readonly size: number }
  | { readonly kind: 'number pointers'; readonly dtype: Dtype; readonly size: number };

const [INTEGER, FLOAT, STRING, ENUM, VLEN] = [0, 1, 3, 8, 9];
/** Types that no value here can be, by HDF5's numbers of classes. */
const OTHERS = [
  '',
  '',
  'a time',
  '',
  'a bit field',
  'opaque',
  'compound',
  'a reference',
  '',
  '',
  'an array type',
];

/** What the elements are, or why they cannot be read. */
export function elementsOfType(type: Metadata): Elements | string {
  const { size } = type;
  if (type.type === STRING)
    return type.vlen ? { kind: 'text pointers', size } : { kind: 'text', isUtf8: type.cset === 1, size };
  const numbers = dtypeOf(type);
  if (numbers !== undefined) return { kind: 'numbers', dtype: numbers, size };
  const { vlen_type: inner } = type;
  const dtype = type.type === VLEN && inner !== undefined ? dtypeOf(inner) : undefined;
  if (dtype !== undefined && inner !== undefined) return { kind: 'number pointers', dtype, size };
  return `its type is ${OTHERS[type.type] || `a number of ${size} bytes, or a list of others`}`;
}

function dtypeOf({ type, size, signed, enum_type: named }: Metadata): Dtype | undefined {
  if (type === ENUM && named !== undefined) {
    const isBool = size === 1 && Object.keys(named.members).sort().join(' ') === 'FALSE TRUE';
    return isBool ? 'bool' : integer(size, signed);
  }
  if (type === INTEGER) return integer(size, signed);
  return type === FLOAT ? FLOATS.get(size) : undefined;
}

const FLOATS = new Map<number, Dtype>([
  [2, 'float16'],
  [4, 'float32'],
  [8, 'float64'],
]);

function integer(size: number, signed: boolean): Dtype | undefined {
  return [1, 2, 4, 8].includes(size) ? (`${signed ? '' : 'u'}int${8 * size}` as Dtype) : undefined;
}

/**
 * Reads a part of a dataset as values of one shape, one behind the other.
 * @returns Undefined if that fails.
 */
export function valuesOf(
  file: Hdf5File,
  dataset: string,
  elements: Elements,
  part: Part,
  { values, shape }: { readonly values: number; readonly shape: readonly number[] },
): Hdf5Value[] | undefined {
  const each = shape.reduce((product, length) => product * length, 1);
  const bytes = values * each * elements.size;
  if (bytes === 0) return Array.from({ length: values }, () => oneOf(elements, [], new Uint8Array(0), shape));
  return file.read(dataset, part, bytes, (at) => {
    const stored = file.bytesAt(at, bytes);
    if (elements.kind === 'numbers' || elements.kind === 'text')
      return Array.from({ length: values }, (_, i) => {
        const own = stored.subarray(i * each * elements.size, (i + 1) * each * elements.size);
        return oneOf(elements, elements.kind === 'text' ? texts(own, elements) : [], own, shape);
      });
    try {
      return pointed(file, elements, stored, values, each);
    } finally {
      file.reclaim(dataset, at);
    }
  });
}

function oneOf(
  elements: Elements,
  texts: readonly string[],
  bytes: Uint8Array,
  shape: readonly number[],
): Hdf5Value {
  if (elements.kind === 'numbers')
    return { data: elementsOf(elements.dtype, bytes), shape, dtype: elements.dtype };
  return shape.length === 0 ? (texts[0] ?? '') : texts;
}

/** Texts of one length, which are filled up with NUL, or with spaces as Fortran does. */
function texts(bytes: Uint8Array, { size, isUtf8 }: Elements & { kind: 'text' }): string[] {
  return Array.from({ length: bytes.byteLength / size }, (_, i) => {
    const own = Buffer.from(bytes.subarray(i * size, (i + 1) * size));
    return own.toString(isUtf8 ? 'utf8' : 'latin1').replace(/\0.*$/s, '');
  });
}

/** Values of variable length. Lists of numbers have one axis, the last one. */
function pointed(
  file: Hdf5File,
  elements: Elements,
  stored: Uint8Array,
  values: number,
  each: number,
): Hdf5Value[] {
  const words = new Uint32Array(stored.buffer, stored.byteOffset, stored.byteLength / 4);
  if (elements.kind !== 'number pointers') {
    const all = Array.from(words, (at) => file.textAt(at));
    return each === 1 ? all : Array.from({ length: values }, (_, i) => all.slice(i * each, (i + 1) * each));
  }
  const { dtype } = elements;
  return Array.from({ length: values }, (_, i) => {
    const [length = 0, at = 0] = words.subarray(2 * i);
    const bytes = file.bytesAt(at, length * itemBytes(dtype));
    return { data: elementsOf(dtype, bytes), shape: [length], dtype };
  });
}
