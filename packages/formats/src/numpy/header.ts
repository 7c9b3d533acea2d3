import { itemBytes, type ByteOrder, type Dtype } from '../arrays/nd-array.js';

/** What the header of an array says. */
export interface NpyHeader {
  /** Bytes of the header, behind which the elements begin. */
  readonly bytes: number;
  readonly dtype: Dtype;
  readonly order: ByteOrder;
  /** The length of each axis. */
  readonly shape: readonly number[];
  /** Whether the first axis is the first to change (Fortran order), so that rows are not in one piece. */
  readonly isFortran: boolean;
}

/** Why a header gives no array: it is damaged, more of it is needed, or no array here can be such. */
export type NoHeader =
  | { readonly kind: 'damage' | 'unsupported'; readonly problem: string }
  | { readonly kind: 'more'; readonly bytes: number };

const MAGIC = Buffer.from('\x93NUMPY', 'latin1');
/** Bytes before the text of a header, at most. */
const PRELUDE = 12;
/** A longer text is none of numbers: NumPy itself reads 10,000 characters. */
const MOST_TEXT = 64 * 1024;

/** An entry of the header, which is a dict as Python writes it. Python 2 wrote lengths as `3L`. */
const ENTRY =
  /\s*'(descr|fortran_order|shape)'\s*:\s*(?:'([^'\\]*)'|(True|False)|\(\s*((?:\d{1,16}L?\s*,\s*)*(?:\d{1,16}L?\s*)?)\)|(\[))\s*/y;

const DTYPES: Readonly<Record<string, Dtype>> = {
  b1: 'bool',
  i1: 'int8',
  u1: 'uint8',
  i2: 'int16',
  u2: 'uint16',
  i4: 'int32',
  u4: 'uint32',
  i8: 'int64',
  u8: 'uint64',
  f2: 'float16',
  f4: 'float32',
  f8: 'float64',
};

/** Bytes of an array with this shape. It may be more than there can be. */
export function arrayBytes({ dtype }: Pick<NpyHeader, 'dtype'>, shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, itemBytes(dtype));
}

/** Reads the header at the start of a `.npy` file. */
export function headerAt(bytes: Uint8Array): NpyHeader | NoHeader {
  if (bytes.byteLength < PRELUDE) return { kind: 'more', bytes: PRELUDE };
  if (MAGIC.compare(bytes, 0, MAGIC.length) !== 0) return damage('it does not begin as a .npy file');
  const [version = 0] = bytes.subarray(MAGIC.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset, PRELUDE);
  if (version < 1 || version > 3) return damage(`its version is ${version}`);
  const start = version === 1 ? 10 : 12;
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  if (length > MOST_TEXT) return damage(`its header has ${length} bytes, more than ${MOST_TEXT}`);
  const end = start + length;
  if (end > bytes.byteLength) return { kind: 'more', bytes: end };
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, length).toString('latin1');
  const about = entriesIn(text);
  return about === undefined ? damage('its header is not as NumPy writes it') : described(about, end);
}

/** What the entries of a header have, as text. */
type Entries = Readonly<Record<'descr' | 'fortran_order' | 'shape', string>>;

/**
 * There are libraries that read arrays. They search headers for parts of the dict, or take its text for
 * almost JSON, so that they find arrays in damaged ones too.
 */
function entriesIn(text: string): Entries | undefined {
  const dict = /^\s*\{/.exec(text)?.[0];
  if (dict === undefined) return undefined;
  const found = new Map<string, string>();
  ENTRY.lastIndex = dict.length;
  for (let at = dict.length; found.size < 3; at = ENTRY.lastIndex) {
    const [, name = '', quoted, word, axes, list] = ENTRY.exec(text) ?? [];
    const value = { descr: quoted ?? list, fortran_order: word, shape: axes }[name];
    if (value === undefined || found.has(name)) return undefined;
    found.set(name, value);
    // A list has more entries than can be told apart here, and it is refused in any case.
    if (list !== undefined) return { descr: list, fortran_order: 'False', shape: '' };
    if (text[ENTRY.lastIndex] === ',') ENTRY.lastIndex += 1;
    else if (found.size < 3 || ENTRY.lastIndex === at) return undefined;
  }
  if (!/^\s*\}\s*$/.test(text.slice(ENTRY.lastIndex))) return undefined;
  return Object.fromEntries(found) as Entries;
}

function described({ descr, fortran_order, shape }: Entries, bytes: number): NpyHeader | NoHeader {
  const [, mark = '', kind = ''] = /^([<>|=]?)(.*)$/.exec(descr) ?? [];
  const dtype = Object.hasOwn(DTYPES, kind) ? DTYPES[kind] : undefined;
  if (dtype === undefined) {
    const problem =
      descr === '[' ? 'its elements are structures' : `its elements are ${descr}, no plain numbers`;
    return { kind: 'unsupported', problem };
  }
  const axes = shape.split(',').map((length) => length.replace('L', '').trim());
  if (axes.at(-1) === '') axes.pop();
  // One number in parentheses is a number to Python.
  else if (axes.length === 1) return damage('its shape is not a tuple');
  const lengths = axes.map(Number);
  if (!lengths.every(Number.isSafeInteger)) return damage('invalid shape');
  // With one axis there is one order.
  const isFortran = fortran_order === 'True' && lengths.length > 1;
  return { bytes, dtype, order: mark === '>' ? 'big' : 'little', shape: lengths, isFortran };
}

function damage(problem: string): NoHeader {
  return { kind: 'damage', problem };
}
