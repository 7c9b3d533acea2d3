export {
  listSequence,
  shuffledSequence,
  type Access,
  type AccessSequence,
  type ListSequenceOptions,
  type ShuffledSequenceOptions,
} from './sequence/access-sequence.js';
export { adaptiveAutotuner, type AdaptiveAutotunerOptions } from './autotuner/adaptive.js';
export {
  type Autotuner,
  type Tuning,
  type TuningDecision,
  type TuningEvent,
  type TuningLimits,
  type TuningObservation,
} from './autotuner/autotuner.js';
export { prismaAutotuner, type PrismaAutotunerOptions } from './autotuner/prisma.js';
export { Prefetcher } from './prefetcher.js';
export { type PrefetcherOptions } from './prefetcher-options.js';
export { type PrefetcherProfile, type PrefetcherStats } from './prefetcher-stats.js';
export { type Accesses } from './sequence/accesses.js';
export { type EpochProfile, type LevelReads } from './observe/epochs.js';
export { type PlaceReads } from './observe/places.js';
export { type Figures } from './observe/figures.js';
export { type Profile } from './observe/profile.js';
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
} from './sampling/access-tables.js';
export {
  globalBatchSampler,
  type GlobalBatchSampler,
  type GlobalBatchSamplerOptions,
  type GlobalCheckpoint,
} from './sampling/global-batch-sampler.js';
export { redistribute, type RedistributeOptions } from './sampling/redistribute.js';
export { samplerSequence } from './sampling/sampler-sequence.js';
export { type Sampler } from './sampling/sampler.js';
export {
  torchDistributedSampler,
  type TorchDistributedSamplerOptions,
} from './sampling/torch-distributed-sampler.js';
export { torchRandperm } from './sampling/torch-randperm.js';
export { PrefetchClient, type PrefetchClientOptions } from './sharing/client/client.js';
export {
  servePrefetcher,
  type PrefetchServer,
  type PrefetchServerEvents,
  type ServePrefetcherOptions,
} from './sharing/server/server.js';
export { ThreadPrefetchClient } from './sharing/thread/thread-client.js';
export { threadPort } from './sharing/thread/thread-host.js';
export { type SkippedSample } from './staging/skips.js';
export { type SampleSource } from './source.js';
export {
  StagingBuffer,
  type StagingBufferEvents,
  type StagingBufferOptions,
} from './staging/staging-buffer.js';
export { type PrefetcherState } from './state.js';
export { type Limit, type Verdict } from './observe/verdict.js';
