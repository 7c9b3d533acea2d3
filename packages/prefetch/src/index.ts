export {
  listSequence,
  shuffledSequence,
  type Access,
  type AccessSequence,
  type ListSequenceOptions,
  type ShuffledSequenceOptions,
} from './access-sequence.js';
export {
  Prefetcher,
  type PrefetcherOptions,
  type PrefetcherStats,
  type Sample,
  type SampleSource,
} from './prefetcher.js';
