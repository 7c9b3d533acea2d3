/**
 * The core that loaders read from and all other packages build on: hierarchy, RAM tier, errors, sizes, clock.
 * @module
 */
export {
  type ListOptions,
  type ObjectStat,
  type OperationOptions,
  type ReadOutcome,
  type StorageDriver,
} from './driver/driver.js';
export { MemoryDriver, type MemoryDriverOptions } from './driver/memory-driver.js';
export { type HierarchyEvents, type TierFault } from './hierarchy/events.js';
export { Hierarchy } from './hierarchy/hierarchy.js';
export { type ObjectHandle } from './hierarchy/object-handle.js';
export { type HierarchyOptions } from './hierarchy/options.js';
export { statsBetween, type HierarchyStats, type ReadStats, type TierStats } from './hierarchy/stats.js';
export { MetadataContainer, type Namespace } from './namespace/metadata-container.js';
export { type DropReason, type VersionPolicy } from './placement/placement.js';
export type { HierarchyReadIntoOptions, HierarchyReadOptions, HierarchyReadRequest } from './read/options.js';
export { type FetchModel, type PeerModel } from './read/place-choice.js';
export { formatBytes, parseBytes, type ByteSize } from './support/bytes.js';
export { systemClock, type Clock, type SleepOptions } from './support/clock.js';
export {
  ERROR_CODES,
  isTieredError,
  TieredError,
  type ErrorCode,
  type TieredErrorDetails,
} from './support/errors.js';
export { Random } from './support/random.js';
export { type Tier, type TierHealth, type TierLayout, type TierOptions, type TierUse } from './tier/tier.js';
