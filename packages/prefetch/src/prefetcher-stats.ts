import type { Tuning } from './autotuner/autotuner.js';
import type { EpochProfile, LevelReads, Profile } from './observe/profile.js';

/** Counts of a prefetcher so far, and what it holds at the moment. */
export interface PrefetcherStats {
  /** Samples delivered to consumers, and their bytes. */
  readonly samples: number;
  readonly bytes: number;
  /** Milliseconds that consumers waited for a sample that was not ready yet. */
  readonly stallMs: number;
  /**
   * Samples copied instead of read, because the same object was already in the buffer or being read into it.
   */
  readonly repeated: number;
  /**
   * Reads by name of objects that had not been read ahead, and samples that were dropped because no consumer
   * asked for them.
   */
  readonly bypassed: number;
  readonly dropped: number;
  /** Samples that could not be read and were left out (`onError: 'skip'`). */
  readonly skipped: number;
  /** Samples being read, and samples that are ready. */
  readonly reading: number;
  readonly ready: number;
  /** Bytes of samples being read, waiting, or with a consumer. */
  readonly heldBytes: number;
  /** Bytes of samples that consumers have not released. */
  readonly lentBytes: number;
  /** The current settings of the staging buffer. */
  readonly tuning: Tuning;
}

/**
 * A profile with the levels that served the reads, in total and by epoch. Its verdict covers the epoch that
 * consumers are in.
 */
export interface PrefetcherProfile extends Profile {
  /**
   * Bytes by level, the source last, of all reads of the hierarchy since the prefetcher was made. Empty if
   * the source has no `stats`.
   */
  readonly levels: readonly LevelReads[];
  /**
   * The last 32 epochs of this prefetcher, each with its figures and its verdict. The last one may still be
   * in progress.
   */
  readonly epochs: readonly EpochProfile[];
}
