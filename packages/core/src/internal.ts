/**
 * What the packages of this repository share and users must not build on: it may change with any release.
 */
export { onAbort, OperationScope, raceAbort } from './abort.js';
export { copyName, newTag, tagOf } from './copy-name.js';
export {
  fileOf,
  isPacked,
  newSegment,
  offsetInFile,
  packedTag,
  SEGMENT_BYTES,
  SEGMENT_UNIT,
  SEGMENT_UNITS,
  segmentName,
  segmentOf,
} from './packed-tag.js';
export { BriefMap } from './brief-map.js';
export { Chain, type Link } from './chain.js';
export { loadChecksum, type Checksum } from './checksum.js';
export { limited } from './limited.js';
export {
  assertCounts,
  assertNoTilde,
  closedError,
  configError,
  hiddenConfigError,
  invariant,
  notOpenError,
} from './errors.js';
export { SafeEmitter } from './events.js';
export { loadHierarchyOptions } from './config/load.js';
export { nearest } from './config/unknown-keys.js';
export { loadManifest, saveManifest, type ManifestOptions } from './manifest.js';
export { identityOf } from './locations.js';
export { isMistake } from './open-tier.js';
export { memoryFor } from './memory-for.js';
export { ABSENT, MetadataContainer } from './metadata-container.js';
export { gathered, readOutcome } from './driver.js';
export { NOTHING_PLACED, sourceChanged } from './placement.js';
