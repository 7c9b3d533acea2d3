export { Dataset, type EpochsOptions } from './dataset/dataset.js';
export { openDataset, type DatasetOptions } from './dataset/open-dataset.js';
