import type { OperationOptions } from '@tiered/core';
import { releasedError } from './errors.js';
import type { Access } from './sequence/access-sequence.js';

/** An object that was read ahead, lent to a consumer until it is released. */
export interface Sample extends Access, Disposable {
  /**
   * The bytes of the object: a view on the staging buffer, whose memory is reused for another sample after
   * the release. Copy what you keep (`data.slice()`), or set the option `copy` of `Prefetcher`.
   * @throws TieredError `TIERED_CLOSED` after the release, unless the sample is a copy.
   */
  readonly data: Uint8Array;
  /** Gives the memory back. `using` calls it at the end of a block. Idempotent. */
  release(): void;
}

/** Options of a read by key. */
export interface SampleReadOptions extends OperationOptions {
  /** First byte. Default: 0. */
  readonly offset?: number | undefined;
}

/**
 * A reader of samples: the `Prefetcher` itself, or a client of it in another thread or process. Any number of
 * consumers may share a sequence; each sample goes to one of them.
 */
export interface SampleReader extends AsyncIterable<Sample>, AsyncDisposable {
  /**
   * Takes the next samples in order. Resolves as soon as one is ready, with as many as are ready, all of one
   * epoch. Resolves to an empty list at the end of the sequence. The caller releases the samples.
   * @param most The most samples to take, at least 1.
   * @throws The read error of the first of them; `TIERED_CONFIG_INVALID` if `most` is not a valid number. An
   * abort rejects with `signal.reason`. A call that rejects takes nothing.
   */
  take(most: number, options?: OperationOptions): Promise<readonly Sample[]>;
  /**
   * Iterates over the samples in lists of `size`; the last list of an epoch may be shorter. A list is
   * released when the next one is requested. Cheaper than one sample at a time if samples are small: one
   * promise per list. If the reader fails before a list is full, its samples are not delivered to any
   * consumer.
   * @param size At least 1.
   * @throws TieredError `TIERED_CONFIG_INVALID`, at once, if `size` is not a valid number.
   */
  batches(size: number): AsyncIterableIterator<readonly Sample[]>;
  /** Iterates over the samples one by one. Each is released when the next one is requested. */
  [Symbol.asyncIterator](): AsyncIterableIterator<Sample>;
  /**
   * Reads a part of an object, like pread. Resolves to the number of bytes read: fewer than the target holds
   * only at the end of the object, 0 past the end. For consumers that read by name, in an order of their own
   * (`Prisma.read` of the thesis, section 4.2). An object that was read ahead is served from memory; any
   * other is read from the source at once. The object counts as taken, once, when a read reaches its end. A
   * read that fails, is aborted, stops before the end or begins past it takes nothing.
   * @throws As `Hierarchy.readInto` does.
   */
  readInto(key: string, target: Uint8Array, options?: SampleReadOptions): Promise<number>;
  /** Closes the reader. Pending calls reject with `TIERED_CLOSED`. Taken samples are released. Idempotent. */
  close(): Promise<void>;
}

/** A sample that a consumer holds. */
export abstract class LentSample implements Sample {
  readonly key: string;
  readonly epoch: number;
  readonly position: number;
  /** Undefined after the release. */
  #bytes: Uint8Array | undefined;

  constructor({ key, epoch, position }: Access, bytes: Uint8Array) {
    this.key = key;
    this.epoch = epoch;
    this.position = position;
    this.#bytes = bytes;
  }

  get data(): Uint8Array {
    if (this.#bytes === undefined) throw releasedError(this.key);
    return this.#bytes;
  }

  release(): void {
    if (this.#bytes === undefined) return;
    this.#bytes = undefined;
    this.onRelease();
  }

  [Symbol.dispose](): void {
    this.release();
  }

  /** Called once, when the bytes are no longer used. */
  protected abstract onRelease(): void;
}
