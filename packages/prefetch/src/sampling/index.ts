/**
 * Samplers, which know the sample numbers that every worker of a training reads before anything is read.
 * @module
 */
export {
  accessAnalysis,
  accessDistribution,
  type AccessAnalysis,
  type AccessAnalysisOptions,
} from './access-analysis.js';
export {
  accessTables,
  firstAccesses,
  frequencyTable,
  frequencyTables,
  NEVER_READ,
  type AccessTable,
  type AccessTableOptions,
  type FrequencyTable,
} from './access-tables.js';
export { describedSampler, MOST_DESCRIBED, type DescribedSequence } from './described-sequence.js';
export {
  globalBatchSampler,
  type GlobalBatchSampler,
  type GlobalBatchSamplerOptions,
  type GlobalCheckpoint,
} from './global-batch-sampler.js';
export { rankSampler, type RankSamplerOptions } from './rank-sampler.js';
export { readsToCome, type ReadsToComeOptions } from './reads-to-come.js';
export { redistribute, type RedistributeOptions } from './redistribute.js';
export { samplerSequence, type Sampler } from './sampler.js';
export {
  torchBatchSampler,
  type TorchBatchSampler,
  type TorchBatchSamplerOptions,
} from './torch-batch-sampler.js';
export { torchDistributedSampler, type TorchDistributedSamplerOptions } from './torch-distributed-sampler.js';
export { type TorchGeneratorOptions } from './torch-epochs.js';
export { torchRandomSampler, type TorchRandomSamplerOptions } from './torch-random-sampler.js';
export { torchRandperm } from './torch-randperm.js';
export {
  torchSubsetRandomSampler,
  type TorchSubsetRandomSamplerOptions,
} from './torch-subset-random-sampler.js';
export {
  torchWeightedRandomSampler,
  type TorchWeightedRandomSamplerOptions,
} from './torch-weighted-random-sampler.js';
