export {
  listSequence,
  shuffledSequence,
  type Access,
  type AccessSequence,
  type ListSequenceOptions,
  type ShuffledSequenceOptions,
} from './access-sequence.js';
export { adaptiveAutotuner, type AdaptiveAutotunerOptions } from './autotuner/adaptive.js';
export {
  type Autotuner,
  type Tuning,
  type TuningDecision,
  type TuningLimits,
  type TuningObservation,
} from './autotuner/autotuner.js';
export { prismaAutotuner, type PrismaAutotunerOptions } from './autotuner/prisma.js';
export {
  Prefetcher,
  type Accesses,
  type PrefetcherOptions,
  type PrefetcherProfile,
  type PrefetcherStats,
} from './prefetcher.js';
export { type EpochProfile, type LevelReads } from './epochs.js';
export { type PlaceReads } from './places.js';
export { type Figures, type Profile } from './profile.js';
export { type Sample, type SampleReader, type SampleReadOptions } from './sample.js';
export {
  accessTables,
  firstAccesses,
  frequencyTable,
  frequencyTables,
  NEVER_READ,
  type AccessTable,
  type AccessTableOptions,
  type FrequencyTable,
} from './sampler/access-tables.js';
export {
  globalBatchSampler,
  type GlobalBatchSampler,
  type GlobalBatchSamplerOptions,
  type GlobalCheckpoint,
} from './sampler/global-batch-sampler.js';
export { redistribute, type RedistributeOptions } from './sampler/redistribute.js';
export { samplerSequence } from './sampler/sampler-sequence.js';
export { type Sampler } from './sampler/sampler.js';
export {
  torchDistributedSampler,
  type TorchDistributedSamplerOptions,
} from './sampler/torch-distributed-sampler.js';
export { torchRandperm } from './sampler/torch-randperm.js';
export { PrefetchClient, type PrefetchClientOptions } from './sharing/client.js';
export {
  servePrefetcher,
  type PrefetchServer,
  type PrefetchServerEvents,
  type ServePrefetcherOptions,
} from './sharing/server.js';
export { ThreadPrefetchClient } from './sharing/thread-client.js';
export { threadPort } from './sharing/thread-host.js';
export { type SkippedSample } from './skips.js';
export { type SampleSource } from './source.js';
export {
  StagingBuffer,
  type StagingBufferEvents,
  type StagingBufferOptions,
  type TuningEvent,
} from './staging-buffer.js';
export { type PrefetcherState } from './state.js';
export { type Limit, type Verdict } from './verdict.js';
