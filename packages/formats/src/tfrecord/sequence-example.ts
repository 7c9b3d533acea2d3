import { BinaryWriter, WireType, type BinaryReader } from '@bufbuild/protobuf/wire';
import { readMessage } from './example.js';
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
