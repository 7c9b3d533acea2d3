import type { OperationOptions } from '@tiered/core';
import type { Access } from './sequence/access-sequence.js';

/** An object that was read ahead, lent to whoever took it until it is released. */
export interface Sample extends Access, Disposable {
  /**
   * Its bytes: a view on the staging buffer, whose memory serves another sample after the release. Copy what
   * you keep (`data.slice()`), or have copies from the start (option `copy` of `Prefetcher`).
   * @throws TieredError `TIERED_CLOSED` after the release, except of a copy.
   */
  readonly data: Uint8Array;
  /** Gives the memory back. Does nothing a second time; `using` does it at the end of a block. */
  release(): void;
}

/** Options of a read by key. */
export interface SampleReadOptions extends OperationOptions {
  /** First byte. Default: 0. */
  readonly offset?: number | undefined;
}

/**
 * What a consumer of samples holds: the `Prefetcher` itself, or a client of it in another thread or process.
 * Any number of consumers may take from one sequence; each sample goes to one of them.
 */
export interface SampleReader extends AsyncIterable<Sample>, AsyncDisposable {
  /**
   * The next samples in order: resolves as soon as one is there, with as many as are there, all of one epoch.
   * Whoever takes them releases them. Empty at the end of the sequence.
   * @param most Samples at most, at least 1.
   * @throws What the read of the first of them failed with; `TIERED_CONFIG_INVALID` for what is no number of
   * samples. Abort rejects with `signal.reason`. Either takes nothing.
   */
  take(most: number, options?: OperationOptions): Promise<readonly Sample[]>;
  /**
   * The samples in lists of `size`, the last of an epoch shorter. A list is released when the next is asked
   * for. Cheaper than one at a time where samples are small: a promise a list. Samples that do not fill a
   * list when it fails are given to nobody.
   * @param size At least 1.
   * @throws TieredError `TIERED_CONFIG_INVALID`, at once, for what is no number of samples.
   */
  batches(size: number): AsyncIterableIterator<readonly Sample[]>;
  /** The samples one by one. Each is released when the next is asked for. */
  [Symbol.asyncIterator](): AsyncIterableIterator<Sample>;
  /**
   * Reads a part of an object as pread does: resolves to the number of bytes, fewer than the target holds
   * only at the end of the object, 0 behind it. For consumers that ask by name, and in an order of their own
   * (`Prisma.read` of the thesis, section 4.2). What was read ahead is served from memory, all else is read
   * from the source at once. The object counts as taken, once, when a read has reached its end. One that
   * fails, is aborted, stops before the end or begins behind it takes nothing.
   * @throws As `Hierarchy.readInto` does.
   */
  readInto(key: string, target: Uint8Array, options?: SampleReadOptions): Promise<number>;
  /** Ends it; what waits rejects with `TIERED_CLOSED`. Samples that were taken are released. Idempotent. */
  close(): Promise<void>;
}
