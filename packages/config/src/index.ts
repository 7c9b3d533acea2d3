/** A hierarchy from a YAML or JSON file. @module */
export type {
  HierarchyConfig,
  LevelConfig,
  LoadOptions,
  PlacementConfig,
  SourceConfig,
  TierConfig,
} from './hierarchy-config.js';
export { loadHierarchy, loadHierarchyOptions } from './load-hierarchy.js';
