import type { ByteSize, Clock, OperationOptions } from '@tiered/core';
import { assertCounts, configError } from '@tiered/core/internal';
import type { Autotuner } from './autotuner/autotuner.js';
import type { Lending } from './staging/lender.js';
import { Skips, type SkippedSample } from './staging/skips.js';
import { StagingBuffer } from './staging/staging-buffer.js';
import type { PrefetcherState } from './state.js';

/** Options of `Prefetcher`. */
export interface PrefetcherOptions extends OperationOptions {
  /**
   * Memory and producers to share with other prefetchers; the options below are then those of the buffer.
   * Default: one of its own.
   */
  readonly staging?: StagingBuffer | undefined;
  /** Its share of a shared buffer beside the shares of the others; any positive number. Default: 1. */
  readonly priority?: number | undefined;
  /**
   * Where another prefetcher of the same sequence stood (`state()`): exactly the samples that were left then
   * come, in the same order. Default: the beginning.
   */
  readonly resume?: PrefetcherState | undefined;
  /**
   * Gives consumers copies, theirs to keep, instead of views that are lent: for code that holds on to `data`,
   * such as a batcher. The copies are outside of `memory`. Costs, for each sample, a copy into memory that is
   * new each time: 3 us for 4 KiB, 40 us for 100 KB, which may be as long as the reading takes from storage
   * that is fast. Default: false.
   */
  readonly copy?: boolean | undefined;
  /**
   * For tests, and for a look at samples that seem to be wrong: released data is detached, so that a view
   * that somebody kept has no bytes, instead of those of another sample. In this thread; those of consumers
   * in other threads are not. Costs as much as `copy`. Default: false.
   */
  readonly detach?: boolean | undefined;
  /**
   * What is done about a sample that cannot be read, once the retries of the hierarchy have failed: `'throw'`
   * ends the prefetcher with its error; `'skip'` leaves it out and goes on, as far as `maxSkipped` allows. A
   * sequence that throws, and a read by name, are thrown in any case. Default: `'throw'`, as nobody should
   * train on less than they think.
   */
  readonly onError?: 'throw' | 'skip' | undefined;
  /**
   * Samples that are skipped in one epoch at most; the next one that cannot be read ends the prefetcher with
   * its error. Default: 10: some damaged files, and not a source that is gone.
   */
  readonly maxSkipped?: number | undefined;
  /**
   * Told of each sample that is skipped, in order, when a consumer would have got it. What it throws ends the
   * prefetcher.
   */
  readonly onSkip?: ((skipped: SkippedSample) => void) | undefined;
  /** As in `StagingBuffer`. Default: 256 MiB. */
  readonly memory?: ByteSize | undefined;
  /** As in `StagingBuffer`. Default: tuned. */
  readonly producers?: number | undefined;
  /** As in `StagingBuffer`. Default: `producers`; if those are tuned, 64. */
  readonly maxProducers?: number | undefined;
  /** As in `StagingBuffer`. Default: `adaptiveAutotuner()`. */
  readonly autotuner?: Autotuner | false | undefined;
  /** As in `StagingBuffer`. */
  readonly debug?: ((line: string) => void) | undefined;
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/** @throws TieredError `TIERED_CONFIG_INVALID` */
export function lendingOf({ copy = false, detach = false }: PrefetcherOptions): Lending {
  if (copy && detach) throw configError('detach', 'false where copies are given', detach);
  return copy ? 'copies' : detach ? 'detached' : 'views';
}

/** @throws TieredError `TIERED_CONFIG_INVALID` */
export function skipsOf({ onError = 'throw', maxSkipped = 10, onSkip }: PrefetcherOptions): Skips {
  if (!['throw', 'skip'].includes(onError)) throw configError('onError', "'throw' or 'skip'", onError);
  assertCounts({ maxSkipped });
  return new Skips({ onError, maxSkipped, onSkip });
}

/**
 * The buffer that was given, or one as the options say.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function stagingOf({
  staging,
  memory,
  producers,
  maxProducers,
  autotuner,
  debug,
  clock,
}: PrefetcherOptions): StagingBuffer {
  const own = { memory, producers, maxProducers, autotuner, debug };
  if (staging === undefined) return new StagingBuffer({ ...own, clock });
  for (const [field, value] of Object.entries(own)) {
    if (value !== undefined) throw configError(field, 'an option of the shared staging buffer', value);
  }
  return staging;
}
