/** Batches of a loader as a TensorFlow.js dataset. @module */
export {
  toTfDataset,
  type AnyBatch,
  type EpochLoader,
  type Tensors,
  type TfDataset,
  type TfEpoch,
} from './tfjs/dataset.js';
