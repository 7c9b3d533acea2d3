/**
 * Traces and metrics for OpenTelemetry.
 * @module
 */
export { instrumentTiered, type TieredOperation, type TracingOptions } from './traces/instrument.js';
export { observeHierarchy, type HierarchyMetricsOptions } from './metrics/hierarchy.js';
export {
  observeCluster,
  type ClusterFigures,
  type ClusterMetricsOptions,
  type ObservedCluster,
} from './metrics/cluster.js';
export {
  observeControl,
  type ControlRate,
  type ControlSeen,
  type ControlShares,
  type ControlStage,
  type ObservedControl,
} from './metrics/control.js';
export { observePrefetcher, type PrefetcherMetricsOptions } from './metrics/prefetcher.js';
