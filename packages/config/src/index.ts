/** A hierarchy from a YAML or JSON file. @module */
export type {
  ClusterConfig,
  ClusterPlanSettings,
  ClusterSettings,
  RegistryConfig,
} from './cluster-config.js';
export type { ControlConfig, ControlSettings, RateSettings } from './control-config.js';
export type {
  GatewayConfig,
  HierarchyConfig,
  LevelConfig,
  LoadOptions,
  PlacementConfig,
  PrefetcherConfig,
  SourceConfig,
  TierConfig,
} from './hierarchy-config.js';
export { loadConfig, loadHierarchy, loadHierarchyOptions, type LoadedConfig } from './load-config.js';
export type { NatsConfig, TableConfig } from './registry-config.js';
export type { SourceWrites } from './make/writes.js';
