/** The performance model's formulas, datasets and published systems. @module */
export { DEFAULT_ASSUMPTIONS, type Assumptions } from './model.js';
export { throughput, type ThroughputCurve } from './model.js';
export { sampleSizes, type Dataset, type NormalDataset } from './model.js';
export {
  fetchFromSource,
  fetchLocal,
  fetchRemote,
  write,
  type Megabytes,
  type MegabytesPerSecond,
  type Seconds,
  type StorageClass,
  type SystemModel,
} from './model.js';
export { ault, SCENARIOS, type Scenario } from './scenarios.js';
