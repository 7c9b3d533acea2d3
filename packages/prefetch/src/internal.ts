/**
 * Exports for the other packages of this repository. Users must not depend on them: they may change in any
 * release.
 */
export { rangeInvalidError } from './errors.js';
export { LentSample } from './sample.js';
export { batchesOf, samplesOf } from './sample-loop.js';
export { Shares, type SharesOptions } from './sampling/shares.js';
export { Arena, type Block } from './staging/arena.js';
export { ReusedMemory } from './staging/reused-memory.js';
