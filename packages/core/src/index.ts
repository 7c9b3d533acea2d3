export { formatBytes, parseBytes, type ByteSize } from './support/bytes.js';
export { systemClock, type Clock, type SleepOptions } from './support/clock.js';
export {
  type CheckedOptions,
  type DriverContext,
  type DriverFactory,
  type FactoryContext,
  type OptionIssue,
  type OptionsSchema,
  type PlacementFactory,
} from './factories.js';
export * from './decorators/index.js';
export {
  type CreateOptions,
  type DriverCapabilities,
  type DriverUsage,
  type IndexHome,
  type ListOptions,
  type ObjectStat,
  type ObjectWriter,
  type Operation,
  type OperationOptions,
  type ReadIntoOptions,
  type ReadOptions,
  type ReadOutcome,
  type ReadRequest,
  type StorageDriver,
  type WriteData,
  type WriteOptions,
} from './driver/driver.js';
export {
  bufferedWriter,
  checkedPieces,
  notFound,
  readEach,
  unsupported,
  versionChanged,
} from './driver/helpers.js';
export {
  ERROR_CODES,
  isTieredError,
  TieredError,
  type ErrorCode,
  type TieredErrorDetails,
} from './support/errors.js';
export { type HierarchyEvents, type TierFault } from './hierarchy/events.js';
export { type HierarchyOptions } from './hierarchy/options.js';
export { type FetchModel } from './read/place-choice.js';
export { Hierarchy } from './hierarchy/hierarchy.js';
export { MemoryDriver, type MemoryDriverOptions } from './driver/memory-driver.js';
export { MetadataContainer, type Namespace } from './namespace/metadata-container.js';
export { type ObjectHandle } from './hierarchy/object-handle.js';
export {
  type CopyPlace,
  type DropReason,
  type Placement,
  type PlacementHost,
  type PlacementRead,
  type PlacementStats,
  type VersionPolicy,
} from './placement.js';
export { type ObjectRef } from './namespace/object-ref.js';
export { Random } from './support/random.js';
export type { HierarchyReadIntoOptions, HierarchyReadOptions, HierarchyReadRequest } from './read/options.js';
export { statsBetween, type HierarchyStats, type ReadStats, type TierStats } from './hierarchy/stats.js';
export { type Tier, type TierHealth, type TierLayout, type TierOptions, type TierUse } from './tier/tier.js';
export { BaseDriver, type BaseDriverOptions } from './driver/base-driver.js';
