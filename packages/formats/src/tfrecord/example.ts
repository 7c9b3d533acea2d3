import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { TieredError } from '@tiered/core';
import { configError } from '@tiered/core/internal';

/** The values of one feature, all of one kind, in order; there may be none. */
export type Feature =
  | { readonly kind: 'bytes'; readonly values: readonly Uint8Array[] }
  | { readonly kind: 'float'; readonly values: Float32Array }
  | { readonly kind: 'int64'; readonly values: readonly bigint[] };

/** Field numbers of the `kind` of `tensorflow.Feature`. */
const KIND_FIELD = { bytes: 1, float: 2, int64: 3 } as const;

/**
 * Encodes a `tf.train.Example`. The same features in the same order give the same bytes; numbers are packed.
 * @param features By name, in the order of the object's own properties (JavaScript puts names that are whole
 * numbers first).
 * @throws TieredError `TIERED_CONFIG_INVALID` for a name that is not well-formed Unicode, and for a number
 * that does not fit int64.
 */
export function encodeExample(features: Readonly<Record<string, Feature>>): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).fork();
  for (const [name, feature] of Object.entries(features)) {
    if (!name.isWellFormed()) throw configError('features', 'names of well-formed Unicode', name);
    writer.tag(1, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(name);
    writer.tag(2, WireType.LengthDelimited).fork();
    writer.tag(KIND_FIELD[feature.kind], WireType.LengthDelimited).fork();
    writeValues(writer, name, feature);
    writer.join().join().join();
  }
  return writer.join().finish();
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

/**
 * Decodes a `tf.train.Example`, packed or not, whoever wrote it. Unknown fields are skipped. Of features with
 * the same name the last one counts. A feature without a kind counts as missing, as in TensorFlow.
 * @param bytes The whole message. Values of kind `bytes` are views into it: they live as long as they are
 * held, and change if it is changed. Numbers are copied.
 * @returns The features by name: a map, so that no name can be special.
 * @throws TieredError `TIERED_DATA_CORRUPT` for bytes that are not such a message, with the decoder's error
 * as `cause`.
 */
export function decodeExample(bytes: Uint8Array): Map<string, Feature> {
  const features = new Map<string, Feature>();
  try {
    const reader = new BinaryReader(bytes);
    readFields(reader, bytes.byteLength, (field, wireType) => {
      if (field !== 1 || wireType !== WireType.LengthDelimited) return false;
      readFeatures(reader, features);
      return true;
    });
  } catch (cause) {
    throw new TieredError(
      'TIERED_DATA_CORRUPT',
      'These bytes are no tf.train.Example; write or fetch them again, and check that the records hold examples.',
      { cause },
    );
  }
  return features;
}

function readFeatures(reader: BinaryReader, features: Map<string, Feature>): void {
  readFields(reader, messageEnd(reader), (field, wireType) => {
    if (field !== 1 || wireType !== WireType.LengthDelimited) return false;
    const [name, feature] = readEntry(reader);
    if (feature === undefined) features.delete(name);
    else features.set(name, feature);
    return true;
  });
}

/**
 * The values of a feature that is being read. One list, however many parts it comes in: hostile bytes have
 * many.
 */
type Growing =
  | { readonly kind: 'bytes'; readonly values: Uint8Array[] }
  | { readonly kind: 'float'; readonly values: number[] }
  | { readonly kind: 'int64'; readonly values: bigint[] };

function readEntry(reader: BinaryReader): [name: string, feature: Feature | undefined] {
  let name = '';
  let feature: Growing | undefined;
  readFields(reader, messageEnd(reader), (field, wireType) => {
    if (wireType !== WireType.LengthDelimited || field > 2) return false;
    if (field === 1) name = reader.string(true);
    else feature = readFeature(reader, feature);
    return true;
  });
  return [name, whole(feature)];
}

function whole(feature: Growing | undefined): Feature | undefined {
  return feature?.kind === 'float' ? { kind: 'float', values: new Float32Array(feature.values) } : feature;
}

/** Adds to the values so far when they are of the same kind: a message that comes in parts is merged. */
function readFeature(reader: BinaryReader, parts: Growing | undefined): Growing | undefined {
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
function readFields(
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

function messageEnd(reader: BinaryReader): number {
  const length = reader.uint32();
  return reader.pos + length;
}

/** The reader itself only knows the end of the bytes, not those of the messages nested in them. */
function assertEnd(reader: BinaryReader, end: number): void {
  if (reader.pos !== end)
    throw new RangeError(`the message that ends at byte ${end} has a field that does not`);
}
