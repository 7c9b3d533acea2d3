/** TFRecord shards, and the `tf.train.Example` and `tf.train.SequenceExample` messages in them. @module */
export {
  decodeExample,
  encodeExample,
  decodeSequenceExample,
  encodeSequenceExample,
  type DecodedSequence,
  type SequenceFeatures,
} from './example.js';
export type { Feature } from './feature.js';
export {
  encodeRecords,
  frameRecord,
  readRecords,
  type EncodeRecordsOptions,
  type ReadRecordsOptions,
} from './records.js';
export { tfrecord, type TfrecordOptions } from './tfrecord.js';
