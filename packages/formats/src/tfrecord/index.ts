/** TFRecord shards, and the `tf.train.Example` messages in them. @module */
export { decodeExample, encodeExample, type Feature } from './example.js';
export { encodeRecords, frameRecord, readRecords, type ReadRecordsOptions } from './records.js';
