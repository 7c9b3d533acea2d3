export {
  listSequence,
  shuffledSequence,
  type Access,
  type AccessSequence,
  type ListSequenceOptions,
  type ShuffledSequenceOptions,
} from './access-sequence.js';
export {
  type Autotuner,
  type Tuning,
  type TuningDecision,
  type TuningLimits,
  type TuningObservation,
} from './autotuner/autotuner.js';
export { Prefetcher, type PrefetcherOptions, type PrefetcherStats, type SampleSource } from './prefetcher.js';
export { type Sample, type SampleReader, type SampleReadOptions } from './sample.js';
