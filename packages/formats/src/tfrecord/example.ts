import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { TieredError } from '@tiered/core';
import {
  messageEnd,
  readFeature,
  readFeatures,
  readFields,
  readMap,
  whole,
  writeFeature,
  writeFeatures,
  writeMap,
  type Feature,
} from './feature.js';

/**
 * Encodes a `tf.train.Example`. The same features in the same order give the same bytes; numbers are packed.
 * @param features By name, in the order of the object's own properties (JavaScript puts names that are whole
 * numbers first).
 * @throws TieredError `TIERED_CONFIG_INVALID` for a name that is not well-formed Unicode, and for a number
 * that does not fit int64.
 */
export function encodeExample(features: Readonly<Record<string, Feature>>): Uint8Array {
  const writer = new BinaryWriter();
  writeFeatures(writer, 1, features);
  return writer.finish();
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
  readMessage(bytes, 'tf.train.Example', (reader, field) => {
    if (field !== 1) return false;
    readFeatures(reader, features);
    return true;
  });
  return features;
}

/** Reads the messages that a message consists of, by their fields; those that are not read are skipped. */
function readMessage(
  bytes: Uint8Array,
  name: string,
  readField: (reader: BinaryReader, field: number) => boolean,
): void {
  try {
    const reader = new BinaryReader(bytes);
    readFields(
      reader,
      bytes.byteLength,
      (field, wireType) => wireType === WireType.LengthDelimited && readField(reader, field),
    );
  } catch (cause) {
    throw new TieredError(
      'TIERED_DATA_CORRUPT',
      `These bytes are not a ${name}; write or fetch them again, and check that the records hold such messages.`,
      { cause },
    );
  }
}

/** What a `tf.train.SequenceExample` is made of. */
export interface SequenceFeatures {
  /** Features of the whole sequence, by name. */
  readonly context: Readonly<Record<string, Feature>>;
  /** For each name, the features of the steps of the sequence, in order; there may be none. */
  readonly featureLists: Readonly<Record<string, readonly Feature[]>>;
}

/** What was in a `tf.train.SequenceExample`. */
export interface DecodedSequence {
  readonly context: Map<string, Feature>;
  /** Steps without a kind of feature are undefined, so that those behind them keep their places. */
  readonly featureLists: Map<string, (Feature | undefined)[]>;
}

type Steps = (Feature | undefined)[];

/**
 * Encodes a `tf.train.SequenceExample`. The same features in the same order give the same bytes.
 * @throws TieredError `TIERED_CONFIG_INVALID` as `encodeExample`.
 */
export function encodeSequenceExample({ context, featureLists }: SequenceFeatures): Uint8Array {
  const writer = new BinaryWriter();
  writeFeatures(writer, 1, context);
  writeMap(writer, 2, featureLists, (name, steps) => {
    writer.tag(2, WireType.LengthDelimited).fork();
    for (const step of steps) writeFeature(writer, 1, name, step);
    writer.join();
  });
  return writer.finish();
}

/**
 * Decodes a `tf.train.SequenceExample`, as `decodeExample` does an example.
 * @param bytes The whole message. Values of kind `bytes` are views into it.
 * @throws TieredError `TIERED_DATA_CORRUPT` for bytes that are not such a message, with the decoder's error
 * as `cause`.
 */
export function decodeSequenceExample(bytes: Uint8Array): DecodedSequence {
  const context = new Map<string, Feature>();
  const featureLists = new Map<string, Steps>();
  readMessage(bytes, 'tf.train.SequenceExample', (reader, field) => {
    if (field === 1) readFeatures(reader, context);
    else if (field === 2) readMap(reader, featureLists, (steps?: Steps) => readSteps(reader, steps), orNone);
    else return false;
    return true;
  });
  return { context, featureLists };
}

/** The steps that were read: a list that is there and has none is a list. */
function orNone(steps: Steps = []): Steps {
  return steps;
}

/** Reads a `tensorflow.FeatureList`, or adds it to the part that came before. */
function readSteps(reader: BinaryReader, soFar: Steps = []): Steps {
  readFields(reader, messageEnd(reader), (field, wireType) => {
    if (field !== 1 || wireType !== WireType.LengthDelimited) return false;
    soFar.push(whole(readFeature(reader, undefined)));
    return true;
  });
  return soFar;
}
