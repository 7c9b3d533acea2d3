/** Batches of a loader as a dataset of TensorFlow.js. @module */
export {
  toTfDataset,
  type AnyBatch,
  type EpochLoader,
  type Tensors,
  type TfDataset,
  type TfEpoch,
} from './tfjs/dataset.js';
