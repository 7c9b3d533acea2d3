/**
 * Samples inside objects: what a format is, and the samples of a dataset by number.
 * @module
 */
export { damaged } from './contract/damage.js';
export {
  type IndexOptions,
  type ObjectReader,
  type RawRecord,
  type RecordTable,
  type SampleFormat,
} from './contract/format.js';
export { FORMAT_NAMES, formatOf } from './contract/format-of.js';
