import { parseBytes, type ByteSize, type OperationOptions } from '@tiered/core';
import { assertCounts, configError } from '@tiered/core/internal';
import type { DamageOptions } from '@tiered/formats';
import type { PrefetcherOptions } from '@tiered/prefetch';
import type { Collate, ModuleFunction, Transform } from './batches/functions.js';
import { isOfModule } from './batches/functions.js';
import type { ClairvoyantOptions } from './clairvoyance.js';
import type { LoaderState } from './state.js';

/** A shuffle within windows. */
export interface WindowShuffle {
  /** Bytes of the samples that are shuffled with each other, such as `'64MiB'`. */
  readonly window: ByteSize;
}

/** Options of `DataLoader`: a job in the sense of HDMLP (section 5), and the making of its batches. */
export interface DataLoaderOptions<S = unknown, T = S, C = readonly T[]>
  extends OperationOptions, DamageOptions {
  /** Samples per batch on this rank, at least 1. */
  readonly batchSize: number;
  /**
   * Seed of every order, a whole number from 0 to 2^53 - 1. All ranks need the same. Default: 0. Record it
   * with your results.
   */
  readonly seed?: number | undefined;
  /** Number of epochs, at least 1. Default: 1. */
  readonly epochs?: number | undefined;
  /**
   * `true` shuffles all samples in every epoch. `{ window }` reads neighbouring samples at once, and shuffles
   * within a window: for sources where random access is expensive. `false` reads the samples in the order of
   * their numbers. Default: `true`, or a window of 64 MiB if samples cannot be read singly, as in row groups
   * and compressed shards.
   */
  readonly shuffle?: boolean | WindowShuffle | undefined;
  /** The rank of this process, from 0. Default: 0. */
  readonly rank?: number | undefined;
  /** Number of processes that train together. Default: 1. */
  readonly ranks?: number | undefined;
  /**
   * Whether to drop the last samples of an epoch if they do not fill a batch on every rank. Default: false;
   * the last batch is then smaller, and of the same size on all ranks. If there are too few samples for that,
   * the first ones of the epoch are read again.
   */
  readonly dropLast?: boolean | undefined;
  /** Samples per epoch, if parts have weights. Default: the number of samples of all parts. */
  readonly epochSamples?: number | undefined;
  /** Transforms a sample for the training. Default: the sample as its format decodes it. */
  readonly transform?: Transform<S, T> | ModuleFunction | undefined;
  /** Combines samples into the data of a batch. Default: the list of the samples. `stack` makes one array. */
  readonly collate?: Collate<T, C> | ModuleFunction | undefined;
  /**
   * Number of worker threads that decode, transform and collate. Functions are then given by their modules
   * (`{ module, export }`). Default: 0, which does the work in this thread.
   */
  readonly workers?: number | undefined;
  /** Number of batches made ahead. Default: 2 per worker, 1 without workers. */
  readonly ahead?: number | undefined;
  /**
   * Total number of workers that are replaced when they end. Default: 0. A worker that ends is then an error,
   * because its replacement usually ends for the same reason.
   */
  readonly replaceWorkers?: number | undefined;
  /** Node options for worker threads, like `execArgv` of `Worker`. Default: those of the process. */
  readonly workerExecArgv?: readonly string[] | undefined;
  /**
   * Makes the tiers keep the objects this rank will read most often until the end of the training, which
   * follow from the seed, and fills the tiers ahead of the reads. Default: the hierarchy's own placement
   * decides.
   */
  readonly clairvoyant?: ClairvoyantOptions | undefined;
  /** The state of a loader of the same samples (`stateDict()`), to continue from. Default: the beginning. */
  readonly resume?: LoaderState | undefined;
  /** Memory, producers and tuning of the prefetcher; see `PrefetcherOptions`. */
  readonly prefetch?:
    | Pick<
        PrefetcherOptions,
        'staging' | 'priority' | 'memory' | 'producers' | 'concurrency' | 'autotuner' | 'debug' | 'clock'
      >
    | undefined;
}

/**
 * These options with a function as `collate`. A separate signature for them lets TypeScript infer the types
 * that generic functions, such as `stack`, make from the samples.
 */
export type CollatedBy<T, C, Options extends { readonly collate?: unknown }> = Omit<Options, 'collate'> & {
  readonly collate: Collate<T, C>;
};

/** Options for any type of samples. */
export type AnyOptions = Omit<DataLoaderOptions, 'transform' | 'collate'> & {
  readonly transform?: unknown;
  readonly collate?: unknown;
};

/** Checked options, with their defaults. */
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

/** Larger values are mistakes, and would take memory before any other check finds them. */
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
