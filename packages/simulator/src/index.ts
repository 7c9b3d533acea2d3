export { DEFAULT_ASSUMPTIONS, type Assumptions } from './model/assumptions.js';
export { calibrate, type CalibrationOptions } from './calibration/calibrate.js';
export {
  fetchModelOf,
  initialProducersOf,
  parseProfile,
  systemOf,
  unsteadyIn,
  type CalibrationProfile,
  type PlaceProfile,
  type SystemRest,
} from './calibration/profile.js';
export { parseSimulation, strategyNamed, type ParsedSimulation } from './config.js';
export { throughput, type ThroughputCurve } from './model/curve.js';
export { sampleSizes, type Dataset, type NormalDataset } from './model/dataset.js';
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
} from './model/model.js';
export { type SimulationResult, type SourceShare } from './engine/outcome.js';
export { renderChart } from './report/chart.js';
export { renderCsv } from './report/csv.js';
export { type ReportRow } from './report/report.js';
export { renderTable } from './report/table.js';
export { scaledDown } from './engine/scaled-down.js';
export { ault, SCENARIOS, type Scenario } from './model/scenarios.js';
export { simulate, type SimulateOptions, type Simulation } from './engine/simulate.js';
export { noPfs, type NoPfsOptions } from './strategies/no-pfs.js';
export { STRATEGIES } from './strategies/index.js';
export { placed } from './strategies/placed.js';
export { localityAware, type LocalityAwareOptions } from './strategies/shared-memory.js';
export { Copies, NOWHERE, type Strategy, type StrategyRun } from './strategies/strategy.js';
export { type World } from './engine/world.js';
