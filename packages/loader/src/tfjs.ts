/** Batches of a loader as a dataset of TensorFlow.js. @module */
export { toTfDataset, type EpochLoader, type Tensors, type TfDataset, type TfEpoch } from './tfjs/dataset.js';
export { type AnyBatch } from './tfjs/tensors.js';
