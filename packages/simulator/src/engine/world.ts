import type { AccessTable, Sampler } from '@tiered/prefetch/sampling';
import type { SystemModel } from '../model/model.js';

/** What a strategy knows about its run. */
export interface World {
  readonly system: SystemModel;
  /** Bytes of every sample. */
  readonly sizes: Float64Array;
  /** Bytes of all samples. */
  readonly totalBytes: number;
  readonly sampler: Sampler;
  readonly seed: number;
  /** Samples that a worker reads of one global batch, B / N, rounded. */
  readonly batchPart: number;
  /** Frequencies and first accesses of every worker (section 3.2). Computed when first asked for. */
  readonly accesses: () => Promise<readonly AccessTable[]>;
}
