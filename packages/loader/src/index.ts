/**
 * Batches for training, from samples in any format: ordered by a seed, read ahead, made by workers.
 * @module
 */
export { Batch } from './batches/batch.js';
export {
  stack,
  stackEach,
  type NumberArray,
  type Stackable,
  type Stacked,
  type StackedEach,
} from './batches/collate.js';
export {
  type Collate,
  type ModuleFunction,
  type SampleContext,
  type Transform,
} from './batches/functions.js';
export { type Clairvoyance, type ClairvoyantOptions, type Together } from './clairvoyance.js';
export { type Readers } from './company.js';
export { type Evict } from './exchange.js';
export { type PlanUser } from './plan-of-ranks.js';
export { DataLoader } from './data-loader.js';
export { DerivedDriver, type DerivedDriverOptions } from './derived-driver.js';
export { type LoaderEpoch, type LoaderStats } from './observe/epochs.js';
export {
  type EpochFigures,
  type LoaderFigures,
  type SourceFigures,
  type TierFigures,
} from './observe/figures.js';
export { type EpochLimit } from './observe/limit.js';
export { type CollatedBy, type DataLoaderOptions, type WindowShuffle } from './options.js';
export { splitSamples, type LoaderPart, type SplitOptions } from './order/parts.js';
export { objectReads, type ObjectReadsOptions } from './reading/job.js';
export { type ObjectReads } from './reading/reads-of-job.js';
export { type ThreadedLoader } from './threaded/serve-loader.js';
export { ThreadLoader, type ThreadBatch, type ThreadLoaderOptions } from './threaded/thread-loader.js';
export { type LoaderState } from './state.js';
