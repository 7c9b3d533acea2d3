/**
 * Reading ahead: sequences, the prefetcher, and the staging buffer that prefetchers share.
 * @module
 */
export { type Figures } from './observe/figures.js';
export { type PlaceReads } from './observe/places.js';
export { hitRatioOf, type EpochProfile, type LevelReads, type Profile } from './observe/profile.js';
export { type Limit, type Verdict } from './observe/verdict.js';
export { type PrefetcherOptions } from './prefetcher-options.js';
export { type PrefetcherProfile, type PrefetcherStats } from './prefetcher-stats.js';
export { Prefetcher } from './prefetcher.js';
export { type RequestInput, type RequestOrigin, type SampleRequest, type SampleSource } from './request.js';
export { type Sample, type SampleReader, type SampleReadOptions } from './sample.js';
export {
  listSequence,
  shuffledSequence,
  type Access,
  type AccessSequence,
  type ListSequenceOptions,
  type ShuffledSequenceOptions,
} from './sequence/access-sequence.js';
export { type AccessInput } from './sequence/access-feed.js';
export { type SkippedSample } from './staging/skips.js';
export {
  StagingBuffer,
  type FixedTuning,
  type StagingBufferEvents,
  type StagingBufferOptions,
} from './staging/staging-buffer.js';
export { type PrefetcherState } from './state.js';
