/** A dataset in one call: its source, its tiers and its order. @module */
export { Dataset, type EpochsOptions } from './dataset/dataset.js';
export { type LoaderOptions } from './dataset/loader.js';
export { openDataset, type DatasetOptions } from './dataset/open-dataset.js';
export { type MonitorLook, type PrefetcherLook, type ProgramsLook } from './monitor/look.js';
export { serveMonitor, type Monitor, type MonitorOptions } from './monitor/serve-monitor.js';
