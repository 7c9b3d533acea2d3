/**
 * For authors of placements: the contract between a hierarchy and the component that decides where objects
 * live.
 * @module
 */
export { type ModelContext, type ModelFactory, type PlacementFactory } from '../factories.js';
export { type ObjectRef } from '../namespace/object-ref.js';
export {
  type CopyPlace,
  type LevelHold,
  type Placement,
  type PlacementHost,
  type PlacementRead,
  type PlacementStats,
} from './placement.js';
export { type OnServed, type TracedOptions } from '../tracing/operation.js';
