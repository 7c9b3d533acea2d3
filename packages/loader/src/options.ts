import { parseBytes, type ByteSize, type OperationOptions } from '@tiered/core';
import { assertCounts, configError } from '@tiered/core/internal';
import type { DamageOptions } from '@tiered/formats';
import type { PrefetcherOptions } from '@tiered/prefetch';
import type { Collate, ModuleFunction, Transform } from './batches/functions.js';
import { isOfModule } from './batches/functions.js';
import type { ClairvoyantOptions } from './clairvoyance.js';
import type { LoaderState } from './state.js';

/** How samples are mixed. */
export interface WindowShuffle {
  /** Bytes of the samples that are mixed with each other, such as `'64MiB'`. */
  readonly window: ByteSize;
}

/** Options of `DataLoader`: a job in the sense of HDMLP (section 5), and how its batches are made. */
export interface DataLoaderOptions<S = unknown, T = S, C = readonly T[]>
  extends OperationOptions, DamageOptions {
  /** Samples of a batch of this rank, at least 1. */
  readonly batchSize: number;
  /**
   * Whole number from 0 to 2^53 - 1 that decides every order. All ranks have the same. Default: 0. Record it
   * with your results.
   */
  readonly seed?: number | undefined;
  /** How often the samples are read, at least 1. Default: 1. */
  readonly epochs?: number | undefined;
  /**
   * `true` mixes all samples in every epoch. `{ window }` reads neighbouring samples at once, and mixes what
   * is in a window: for sources where random access is dear. `false` reads the samples as they are numbered.
   * Default: `true`; a window of 64 MiB where samples cannot be read singly, as in row groups and compressed
   * shards.
   */
  readonly shuffle?: boolean | WindowShuffle | undefined;
  /** The rank of this process, from 0 on. Default: 0. */
  readonly rank?: number | undefined;
  /** Processes that train together. Default: 1. */
  readonly ranks?: number | undefined;
  /**
   * Whether samples that do not fill a batch for every rank are left out of an epoch. Default: false. The
   * last batch is smaller then, and as large on all ranks: where samples do not go around, the first of the
   * epoch are read once more.
   */
  readonly dropLast?: boolean | undefined;
  /** Samples of an epoch, where parts have weights. Default: as many as the parts have. */
  readonly epochSamples?: number | undefined;
  /** Makes what the training reads out of a sample. Default: the sample as its format decodes it. */
  readonly transform?: Transform<S, T> | ModuleFunction | undefined;
  /** Makes the data of a batch. Default: the list of its samples. `stack` makes one array. */
  readonly collate?: Collate<T, C> | ModuleFunction | undefined;
  /**
   * Worker threads that decode, transform and collate. Functions are then given by their modules
   * (`{ module, export }`). Default: 0, and it is done in this thread.
   */
  readonly workers?: number | undefined;
  /** Batches that are made ahead. Default: 2 for each worker, 1 without workers. */
  readonly ahead?: number | undefined;
  /**
   * Workers that are replaced when they end, over all. Default: 0: a worker that ends is an error, because
   * what ended it ends the next one too, as a rule.
   */
  readonly replaceWorkers?: number | undefined;
  /** Options of Node for worker threads, as `execArgv` of `Worker`. Default: those of the process. */
  readonly workerExecArgv?: readonly string[] | undefined;
  /**
   * Has the tiers keep what this rank will read most often until the end of the training, which follows from
   * the seed, and fills them ahead of the reads. Default: the placement of the hierarchy decides by itself.
   */
  readonly clairvoyant?: ClairvoyantOptions | undefined;
  /** Where a loader of the same samples stood (`stateDict()`). Default: the beginning. */
  readonly resume?: LoaderState | undefined;
  /** Memory, producers and tuning of the prefetcher, as in `PrefetcherOptions`. */
  readonly prefetch?:
    | Pick<
        PrefetcherOptions,
        'staging' | 'priority' | 'memory' | 'producers' | 'concurrency' | 'autotuner' | 'debug' | 'clock'
      >
    | undefined;
}

/**
 * These options with a function as `collate`. A call that takes them by themselves knows the types that
 * generic functions, such as `stack`, make of its samples.
 */
export type CollatedBy<T, C, Options extends { readonly collate?: unknown }> = Omit<Options, 'collate'> & {
  readonly collate: Collate<T, C>;
};

/** Options, whatever the samples are. */
export type AnyOptions = Omit<DataLoaderOptions, 'transform' | 'collate'> & {
  readonly transform?: unknown;
  readonly collate?: unknown;
};

/** Options that are checked, with their defaults. */
export interface CheckedOptions {
  readonly batchSize: number;
  readonly seed: number;
  readonly epochs: number;
  readonly shuffle: boolean | { readonly windowBytes: number } | undefined;
  readonly rank: number;
  readonly ranks: number;
  readonly dropLast: boolean;
  readonly workers: number;
  readonly ahead: number;
  readonly replaceWorkers: number;
}

/** More is a mistake, and would take memory before anything else says so. */
const MOST = { batchSize: 2 ** 20, ranks: 2 ** 16, ahead: 1024, workers: 256 } as const;

/** @throws TieredError `TIERED_CONFIG_INVALID` */
export function checkedOptions(options: AnyOptions): CheckedOptions {
  const { batchSize, seed = 0, epochs = 1, rank = 0, ranks = 1, dropLast = false, workers = 0 } = options;
  const { ahead = Math.max(1, 2 * workers), replaceWorkers = 0, shuffle, epochSamples } = options;
  assertCounts({ batchSize, epochs, ranks, ahead, ...(epochSamples !== undefined && { epochSamples }) });
  assertCounts({ rank, workers, replaceWorkers }, 0);
  for (const [field, most] of Object.entries(MOST)) {
    const { [field as keyof typeof MOST]: value } = { batchSize, ranks, ahead, workers };
    if (value > most) throw configError(field, `at most ${most}`, value);
  }
  if (rank >= ranks) throw configError('rank', `a whole number from 0 to ${ranks - 1}`, rank);
  if (workers > 0) {
    for (const field of ['transform', 'collate'] as const) {
      const { [field]: given } = options;
      if (given !== undefined && !isOfModule(given))
        throw configError(
          field,
          '{ module, export } where there are workers: functions cannot be sent',
          given,
        );
    }
  }
  const window =
    typeof shuffle === 'object' ? { windowBytes: parseBytes(shuffle.window, 'shuffle.window') } : shuffle;
  return { batchSize, seed, epochs, shuffle: window, rank, ranks, dropLast, workers, ahead, replaceWorkers };
}
