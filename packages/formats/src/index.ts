/** TFRecord and `tf.train.Example`. @module */
export { decodeExample, encodeExample, type Feature } from './example.js';
export { encodeRecords, frameRecord, readRecords, type ReadRecordsOptions } from './tfrecord.js';
