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
   * Memory and producers to share with other prefetchers. `memory`, `producers`, `concurrency`, `autotuner`
   * and `debug` are then options of that buffer and must not be given here. Default: a buffer of its own.
   */
  readonly staging?: StagingBuffer | undefined;
  /**
   * Weight of this prefetcher's share of a shared buffer, relative to the others. Any positive number.
   * Default: 1.
   */
  readonly priority?: number | undefined;
  /**
   * State of another prefetcher of the same sequence (`state()`). This one delivers exactly the samples that
   * were left, in the same order. If the sequence has gained epochs since, their samples follow. Default: the
   * beginning.
   */
  readonly resume?: PrefetcherState | undefined;
  /**
   * Gives consumers copies that they may keep, instead of lent views. For code that holds on to `data`, such
   * as a batcher. The copies do not count towards `memory`. Costs one copy per sample, into newly allocated
   * memory: 3 us for 4 KiB, 40 us for 100 KB. With fast storage, that may take as long as the read itself.
   * Default: false.
   */
  readonly copy?: boolean | undefined;
  /**
   * Detaches released data, so that a stale view is empty instead of showing another sample. For tests, and
   * for debugging samples that look wrong. Works in this thread only, not for consumers in other threads.
   * Costs as much as `copy`. Default: false.
   */
  readonly detach?: boolean | undefined;
  /**
   * How to handle a sample that cannot be read, once the retries of the hierarchy have failed. `'throw'` ends
   * the prefetcher with the error of the read. `'skip'` leaves the sample out and continues, as far as
   * `maxSkipped` allows. Errors of the sequence and of reads by name are always thrown. Default: `'throw'`,
   * so that no training runs on less data than expected.
   */
  readonly onError?: 'throw' | 'skip' | undefined;
  /**
   * Most samples to skip in one epoch. The next one that cannot be read ends the prefetcher with its error.
   * Default: 10, enough for a few damaged files but not for a source that is gone.
   */
  readonly maxSkipped?: number | undefined;
  /**
   * Called for each skipped sample, in order, when a consumer would have received it. If it throws, the
   * prefetcher ends with that error.
   */
  readonly onSkip?: ((skipped: SkippedSample) => void) | undefined;
  /** As in `StagingBuffer`. Default: 256 MiB. */
  readonly memory?: ByteSize | undefined;
  /** As in `StagingBuffer`. Default: tuned, starting at 8, or at 2 for objects of 512 KiB and more. */
  readonly producers?: number | undefined;
  /** As in `StagingBuffer`. Default: `producers`, or 64 if those are tuned. */
  readonly concurrency?: number | undefined;
  /** As in `StagingBuffer`. Default: `adaptiveAutotuner()`. */
  readonly autotuner?: Autotuner | false | undefined;
  /** As in `StagingBuffer`. */
  readonly debug?: ((line: string) => void) | undefined;
  /** Default: the system clock. */
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
 * Returns the given buffer, or makes one from the options.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function stagingOf({
  staging,
  memory,
  producers,
  concurrency,
  autotuner,
  debug,
  clock,
}: PrefetcherOptions): StagingBuffer {
  const own = { memory, producers, concurrency, autotuner, debug };
  if (staging === undefined) return new StagingBuffer({ ...own, clock });
  for (const [field, value] of Object.entries(own)) {
    if (value !== undefined) throw configError(field, 'an option of the shared staging buffer', value);
  }
  return staging;
}
