import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { configError } from '@tiered/core/internal';

/** The values of one feature, all of one kind, in order; there may be none. */
export type Feature =
  | { readonly kind: 'bytes'; readonly values: readonly Uint8Array[] }
  | { readonly kind: 'float'; readonly values: Float32Array }
  | { readonly kind: 'int64'; readonly values: readonly bigint[] };

/** Field numbers of the `kind` of `tensorflow.Feature`. */
const KIND_FIELD = { bytes: 1, float: 2, int64: 3 } as const;

/**
 * Writes a `tensorflow.Features` under a tag of the message around it: features by name, in the order of the
 * object's own properties.
 */
export function writeFeatures(
  writer: BinaryWriter,
  field: number,
  features: Readonly<Record<string, Feature>>,
): void {
  writeMap(writer, field, features, (name, feature) => writeFeature(writer, 2, name, feature));
}

/** Writes a message with one map in it, by name. */
export function writeMap<T>(
  writer: BinaryWriter,
  field: number,
  values: Readonly<Record<string, T>>,
  writeValue: (name: string, value: T) => void,
): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  for (const [name, value] of Object.entries(values)) {
    if (!name.isWellFormed()) throw configError('features', 'names of well-formed Unicode', name);
    writer.tag(1, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(name);
    writeValue(name, value);
    writer.join();
  }
  writer.join();
}

/** Writes one feature under a tag. */
export function writeFeature(writer: BinaryWriter, field: number, name: string, feature: Feature): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  writer.tag(KIND_FIELD[feature.kind], WireType.LengthDelimited).fork();
  writeValues(writer, name, feature);
  writer.join().join();
}

function writeValues(writer: BinaryWriter, name: string, feature: Feature): void {
  if (feature.values.length === 0) return;
  if (feature.kind === 'bytes') {
    for (const value of feature.values) writer.tag(1, WireType.LengthDelimited).bytes(value);
    return;
  }
  writer.tag(1, WireType.LengthDelimited).fork();
  if (feature.kind === 'float') {
    for (const value of feature.values) writer.float(value);
  } else {
    for (const value of feature.values) writer.int64(checkedInt64(name, value));
  }
  writer.join();
}

function checkedInt64(name: string, value: bigint): bigint {
  if (BigInt.asIntN(64, value) === value) return value;
  throw configError(`features[${JSON.stringify(name)}]`, 'values from -2^63 to 2^63 - 1', String(value));
}

/** Reads a `tensorflow.Features` into a map: the last of a name counts, and one without a kind is missing. */
export function readFeatures(reader: BinaryReader, features: Map<string, Feature>): void {
  readMap(reader, features, (soFar) => readFeature(reader, soFar), whole);
}

/**
 * Reads a message with one map in it. An entry that has several values merges them, as messages do. One
 * whose value is undefined in the end is missing.
 * @param read Reads a value, or adds to what is there of it.
 * @param finish Makes of what was read what it is to be.
 */
export function readMap<G, T>(
  reader: BinaryReader,
  values: Map<string, T>,
  read: (soFar: G | undefined) => G | undefined,
  finish: (grown: G | undefined) => T | undefined,
): void {
  readFields(reader, messageEnd(reader), (field, wireType) => {
    if (field !== 1 || wireType !== WireType.LengthDelimited) return false;
    let name = '';
    let grown: G | undefined;
    readFields(reader, messageEnd(reader), (part, partType) => {
      if (partType !== WireType.LengthDelimited || part > 2) return false;
      if (part === 1) name = reader.string(true);
      else grown = read(grown);
      return true;
    });
    const value = finish(grown);
    if (value === undefined) values.delete(name);
    else values.set(name, value);
    return true;
  });
}

/**
 * The values of a feature that is being read. One list, however many parts it comes in: hostile bytes have
 * many.
 */
export type Growing =
  | { readonly kind: 'bytes'; readonly values: Uint8Array[] }
  | { readonly kind: 'float'; readonly values: number[] }
  | { readonly kind: 'int64'; readonly values: bigint[] };

/** The feature that was read. */
export function whole(feature: Growing | undefined): Feature | undefined {
  return feature?.kind === 'float' ? { kind: 'float', values: new Float32Array(feature.values) } : feature;
}

/** Adds to the values so far when they are of the same kind: a message that comes in parts is merged. */
export function readFeature(reader: BinaryReader, parts: Growing | undefined): Growing | undefined {
  let feature = parts;
  readFields(reader, messageEnd(reader), (field, wireType) => {
    if (wireType !== WireType.LengthDelimited) return false;
    if (field === KIND_FIELD.bytes) {
      if (feature?.kind !== 'bytes') feature = { kind: 'bytes', values: [] };
      readList(reader, wireType, () => reader.bytes(), feature.values);
    } else if (field === KIND_FIELD.float) {
      if (feature?.kind !== 'float') feature = { kind: 'float', values: [] };
      readList(reader, WireType.Bit32, () => reader.float(), feature.values);
    } else if (field === KIND_FIELD.int64) {
      if (feature?.kind !== 'int64') feature = { kind: 'int64', values: [] };
      // BigInt(), because the reader gives strings where its own support for bigint is switched off.
      readList(reader, WireType.Varint, () => BigInt(reader.int64()), feature.values);
    } else {
      return false;
    }
    return true;
  });
  return feature;
}

/**
 * A message with one repeated field: each value under its own tag, or many packed under one, or a mixture.
 */
function readList<T>(reader: BinaryReader, valueType: WireType, read: () => T, values: T[]): void {
  readFields(reader, messageEnd(reader), (field, wireType) => {
    if (field !== 1) return false;
    if (wireType === valueType) {
      values.push(read());
      return true;
    }
    if (wireType !== WireType.LengthDelimited) return false;
    const end = messageEnd(reader);
    while (reader.pos < end) values.push(read());
    assertEnd(reader, end);
    return true;
  });
}

/** Reads the fields up to `end`; those that `readField` says it did not read are skipped. */
export function readFields(
  reader: BinaryReader,
  end: number,
  readField: (field: number, wireType: WireType) => boolean,
): void {
  while (reader.pos < end) {
    const [field, wireType] = reader.tag();
    if (!readField(field, wireType)) reader.skip(wireType, field);
  }
  assertEnd(reader, end);
}

/** Where the message that follows ends. */
export function messageEnd(reader: BinaryReader): number {
  const length = reader.uint32();
  return reader.pos + length;
}

/** The reader itself only knows the end of the bytes, not those of the messages nested in them. */
function assertEnd(reader: BinaryReader, end: number): void {
  if (reader.pos !== end)
    throw new RangeError(`the message that ends at byte ${end} has a field that does not`);
}
