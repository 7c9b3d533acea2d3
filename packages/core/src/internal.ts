/** Shared between the packages of this repository. Do not build on it: it may change with any release. */
export { allEnded, limited } from './support/promises.js';
export { onAbort, OperationScope, raceAbort } from './support/abort.js';
export { copyName, newTag, tagOf } from './tier/copy-name.js';
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
} from './tier/packed-tag.js';
export { BriefMap } from './support/brief-map.js';
export { Chain, type Link } from './support/chain.js';
export { loadChecksum, type Checksum } from './support/checksum.js';
export { definedOf, type Defined } from './support/defined.js';
export { grouped } from './support/grouped.js';
export { own } from './support/own.js';
export { printable } from './support/printable.js';
export { existingAt } from './support/place.js';
export {
  assertCounts,
  assertMilliseconds,
  assertNoTilde,
  closedError,
  configError,
  describe,
  hiddenConfigError,
  HOME_PATH,
  invariant,
  isHomePath,
  meaningOf,
  notOpenError,
} from './support/errors.js';
export { SafeEmitter } from './hierarchy/events.js';
export { isDriver } from './hierarchy/options.js';
export { loadManifest, saveManifest } from './namespace/manifest.js';
export { traceEnd, traceStart } from './tracing/operation.js';
export { assertReachedOutside } from './driver/locations.js';
export { addressOf, formerIdentityOf, identityOf } from './driver/identity.js';
export { isMistake } from './tier/open-tier.js';
export { Tier } from './tier/tier.js';
export { memoryFor, tooLargeError } from './support/memory-for.js';
export { mountinfo, mountsOf, nearestMount, type Mount } from './support/mounts.js';
export { ABSENT } from './namespace/metadata-container.js';
export { closeFor, openFor } from './driver/open-drivers.js';
export { gathered, readOutcome } from './driver/helpers.js';
export { NOTHING_PLACED, sourceChanged } from './placement/placement.js';
export { TierHealth } from './tier/tier.js';
export { Allowance } from './decorators/hedging/allowance.js';
export { HedgedRead, type HedgeHost } from './decorators/hedging/hedged-read.js';
export { LateWatch } from './decorators/hedging/late-watch.js';
