import type { Tuning } from './autotuner/autotuner.js';
import type { EpochProfile, LevelReads, Profile } from './observe/profile.js';

/** What a prefetcher did so far, and what it holds at this moment. */
export interface PrefetcherStats {
  /** Samples given to consumers, and their bytes. */
  readonly samples: number;
  readonly bytes: number;
  /** Milliseconds that consumers waited for a sample that was not there yet. */
  readonly stallMs: number;
  /**
   * Samples that were copied instead of read, because the same object was already in the buffer or on its way
   * there.
   */
  readonly repeated: number;
  /**
   * Reads by name of objects that had not been read ahead, and samples that were given up because nobody
   * asked for them.
   */
  readonly bypassed: number;
  readonly dropped: number;
  /** Samples that could not be read and were left out (`onError: 'skip'`). */
  readonly skipped: number;
  /** Samples being read, and samples that are there. */
  readonly reading: number;
  readonly ready: number;
  /** Bytes of samples being read, waiting, or with a consumer. */
  readonly heldBytes: number;
  /** Bytes of samples that consumers have not released. */
  readonly lentBytes: number;
  /** The settings now in force in the staging buffer. */
  readonly tuning: Tuning;
}

/**
 * A profile with the levels that served the reads, in total and by epoch. Its verdict is on the epoch that
 * consumers are in.
 */
export interface PrefetcherProfile extends Profile {
  /**
   * Bytes by level, the source last, of all reads of the hierarchy since the prefetcher was made. Empty if
   * the source has no `stats`.
   */
  readonly levels: readonly LevelReads[];
  /**
   * The last 32 epochs of this prefetcher, each with its figures and its verdict. The last of them may be
   * under way.
   */
  readonly epochs: readonly EpochProfile[];
}
