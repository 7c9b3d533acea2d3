/** The performance model's formulas, datasets and published systems. @module */
export {
  DEFAULT_ASSUMPTIONS,
  type Assumptions,
  throughput,
  type ThroughputCurve,
  sampleSizes,
  type Dataset,
  type NormalDataset,
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
