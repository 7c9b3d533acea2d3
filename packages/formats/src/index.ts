/**
 * Samples inside objects: what a format is, and the samples of a dataset by number.
 * @module
 */
export {
  damaged,
  type IndexOptions,
  type ObjectReader,
  type RawRecord,
  type RecordTable,
  type SampleFormat,
  type SourceObjects,
} from './contract/format.js';
export { type DamageOptions } from './samples/damage-limit.js';
export { openSamples, type IndexProgress, type OpenSamplesOptions } from './samples/open-samples.js';
export { SampleSet, type RecordPlace } from './samples/sample-set.js';
export { FORMAT_NAMES, formatOf } from './contract/format-of.js';
