import {
  statsBetween,
  systemClock,
  type Clock,
  type HierarchyStats,
  type OperationOptions,
} from '@tiered/core';
import { assertCounts, configError, onAbort } from '@tiered/core/internal';
import { noKeysError, prefetcherClosedError, rangeInvalidError } from './errors.js';
import { levelsOf } from './observe/profile.js';
import { lendingOf, skipsOf, stagingOf, type PrefetcherOptions } from './prefetcher-options.js';
import type { PrefetcherProfile, PrefetcherStats } from './prefetcher-stats.js';
import {
  keyedSourceOf,
  requestsOf,
  type RequestInput,
  type RequestOrigin,
  type SampleSource,
} from './request.js';
import { batchesOf, samplesOf, type LoopListener, type SampleTaker } from './sample-loop.js';
import type { Sample, SampleReader, SampleReadOptions } from './sample.js';
import { feedOf, isIterable, sequenceOf, type AccessInput } from './sequence/access-feed.js';
import { fingerprintOf } from './sequence/fingerprint.js';
import { BEGINNING, remainingOf, withGivenBack, type PrefetcherState } from './state.js';
import type { OpenedQueue } from './staging/producers.js';
import type { SampleQueue } from './staging/sample-queue.js';
import type { Skips } from './staging/skips.js';
import { openQueue, type StagingBuffer } from './staging/staging-buffer.js';

/**
 * Milliseconds after which a consumer yields to the event loop. Otherwise a loop over samples that are
 * already there, with purely synchronous computation, would starve reads, timers and signals. A turn costs a
 * microsecond.
 */
const TURN_EVERY_MS = 5;

/**
 * Reads the objects of an access sequence before consumers ask for them (PRISMA, Cluster'21, section III).
 *
 * Samples arrive in the order of the sequence, across epochs. Each is a view on the staging buffer, lent
 * until it is released: by its loop when that requests the next sample, by `release()`, or by `using`. The
 * memory is then reused, and a stale view shows the bytes of another sample. Copy what you keep
 * (`data.slice()`), or set the option `copy`. Any number of consumers may take from a prefetcher; each sample
 * goes to one of them.
 *
 * The error of a failed read is thrown at its position and ends the prefetcher, unless samples may be skipped
 * (`onError`). An error of the sequence ends it too, and so does an abort of the option `signal`, with its
 * reason. Leaving a loop early closes the prefetcher if no other loop over it is running, just as leaving a
 * loop over a Node stream closes the stream. Leaving a loop over `epoch()` does not. If a sequence is not
 * read to its end, its iterator's `return` is called but not awaited.
 *
 * Samples that were read ahead are delivered as they were read: a `rescan` of the hierarchy, for example
 * between epochs, does not change them. To see every change, save the state, close the prefetcher, and resume
 * another one with that state.
 */
export class Prefetcher implements SampleReader {
  readonly #staging: StagingBuffer;
  readonly #origin: SampleSource | RequestOrigin;
  readonly #accesses: AccessInput;
  readonly #skips: Skips;
  readonly #clock: Clock;
  readonly #statsBefore: HierarchyStats | undefined;
  readonly #opened: OpenedQueue;
  readonly #queue: SampleQueue;
  #stopListening: () => void = () => undefined;
  #closed: Promise<void> | undefined;
  /** Samples taken for lists that no consumer has received, or ever will. */
  readonly #ungiven = new Set<readonly Sample[]>();
  #loops = 0;
  readonly #loop: LoopListener = {
    began: () => {
      this.#loops += 1;
    },
    ended: (isAtEnd) => {
      this.#loops -= 1;
      return isAtEnd || this.#loops > 0 ? undefined : this.#close('loop');
    },
  };
  #turnedAt: number;

  /**
   * Starts to read ahead shortly afterwards, before any sample is requested.
   * @param source The hierarchy. The caller closes it.
   * @throws TieredError `TIERED_CONFIG_INVALID` for invalid options, for accesses that are not iterable, for
   * the state of another sequence (other keys, another order or seed), and for a state if the accesses are
   * not a sequence.
   */
  constructor(source: SampleSource, accesses: AccessInput, options?: PrefetcherOptions);
  /**
   * As above, for requests that read themselves. They are delivered in order only: reads by name and the
   * option `resume` fail with `TIERED_CONFIG_INVALID`.
   * @param origin Known facts about the common origin of the requests, or `{}` if there are none. Not a
   * hierarchy, which reads keys.
   */
  constructor(origin: RequestOrigin, requests: RequestInput, options?: PrefetcherOptions);
  constructor(
    origin: SampleSource | RequestOrigin,
    accesses: AccessInput | RequestInput,
    options: PrefetcherOptions = {},
  ) {
    const { priority = 1, clock = systemClock, signal, resume } = options;
    if (!isIterable(accesses))
      throw configError('accesses', 'an AccessSequence or an iterable of accesses', accesses);
    if (!(priority > 0 && priority < Infinity)) throw configError('priority', 'a positive number', priority);
    const remaining = resume === undefined ? accesses : remainingOf(sequenceOf(accesses), resume, 'resume');
    this.#staging = stagingOf(options);
    this.#origin = origin;
    this.#accesses = accesses;
    this.#skips = skipsOf(options);
    this.#clock = clock;
    this.#turnedAt = clock.now();
    this.#statsBefore = origin.stats?.();
    this.#opened = openQueue(this.#staging, {
      origin,
      requests: (onReady) => feedOf(remaining, requestsOf(origin), onReady),
      start: resume ?? BEGINNING,
      weight: priority,
      lending: lendingOf(options),
      skips: this.#skips,
      onEnd: () => this.#stopListening(),
    });
    this.#queue = this.#opened.queue;
    this.#stopListening = onAbort(signal, (reason) => this.#queue.end(reason));
  }

  take(most: number, options: OperationOptions = {}): Promise<readonly Sample[]> {
    return this.#take(most, options, undefined);
  }

  /**
   * Iterates over the samples of one epoch: the epoch of the next sample at the time of the call. Yields
   * nothing at the end of the sequence. Leaving the loop early keeps the prefetcher open, and the rest of the
   * epoch goes to the next consumer, which may be another `epoch()`. Loops over the same epoch share its
   * samples. Use it for one loop per epoch: to validate in between, or in the generator of a
   * `tf.data.generator` for `fitDataset`, which yields tensors or copies because a dataset holds on to its
   * elements (see the README). The caller closes the prefetcher.
   */
  epoch(): AsyncIterableIterator<Sample> {
    return samplesOf(this.#oneEpoch());
  }

  /** As `epoch`, in lists like those of `batches`. */
  epochBatches(size: number): AsyncIterableIterator<readonly Sample[]> {
    return batchesOf(this.#oneEpoch(), size, this.#ungiven);
  }

  /** Takes from one epoch only. */
  #oneEpoch(): SampleTaker {
    let epoch = this.#queue.next?.epoch;
    const take = async (most: number) => {
      const samples = await this.#take(most, {}, epoch);
      // The first sample of a stream had not arrived when the loop began.
      epoch ??= samples[0]?.epoch;
      return samples;
    };
    return { take, takeNow: () => (epoch === undefined ? undefined : this.#takeNow(epoch)) };
  }

  /** Takes the next sample if it is ready and the event loop does not have to turn first. */
  #takeNow(epoch?: number): Sample | undefined {
    return this.#isTurnDue ? undefined : this.#queue.takeNow(epoch);
  }

  get #isTurnDue(): boolean {
    return this.#clock.now() - this.#turnedAt >= TURN_EVERY_MS;
  }

  async #take(
    most: number,
    { signal }: OperationOptions,
    epoch: number | undefined,
  ): Promise<readonly Sample[]> {
    assertCounts({ most });
    if (this.#isTurnDue) {
      await this.#clock.turn();
      this.#turnedAt = this.#clock.now();
    }
    return this.#queue.take(most, signal, epoch);
  }

  async readInto(key: string, target: Uint8Array, options: SampleReadOptions = {}): Promise<number> {
    const { offset = 0 } = options;
    if (!Number.isSafeInteger(offset) || offset < 0) throw rangeInvalidError(key, offset);
    return this.#queue.readByName(key, target, options);
  }

  /**
   * @internal Returns what the source knows of an object. A server needs it: it reads in pieces and must not
   * mix versions.
   */
  stat(key: string, options: OperationOptions): ReturnType<SampleSource['stat']> {
    const source = keyedSourceOf(this.#origin);
    return source === undefined ? Promise.reject(noKeysError(key)) : source.stat(key, options);
  }

  batches(size: number): AsyncIterableIterator<readonly Sample[]> {
    return this.#loopOver(batchesOf(this, size, this.#ungiven));
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Sample> {
    const taker = {
      take: (most: number) => this.#take(most, {}, undefined),
      takeNow: () => this.#takeNow(),
    };
    return samplesOf(taker, this.#loop);
  }

  /**
   * Returns the position of the prefetcher, to be saved with a checkpoint. Also works after the prefetcher
   * has ended, whether by `break`, a throw, an abort, a failed read or `close`. Samples that consumers have
   * taken count as done, even while they still hold them. Samples that were read ahead do not, nor do those
   * collected for a list that no consumer has received. After a failed read, the failed sample is next. The
   * state contains a hash of the accesses (`PrefetcherState.accesses`); the first call in an epoch takes
   * about 10 ms to compute it, or 80 ms if 14 million keys are in no cache.
   * @throws TieredError `TIERED_CONFIG_INVALID` if the accesses are not an `AccessSequence`.
   */
  state(): PrefetcherState {
    const sequence = sequenceOf(this.#accesses);
    const position = withGivenBack(this.#queue.position(), [...this.#ungiven].flat(), sequence);
    const { next, taken, early } = position;
    const epoch = next?.epoch ?? sequence.epochs;
    return {
      version: 1,
      epoch,
      position: next?.position ?? 0,
      taken,
      early,
      epochs: sequence.epochs,
      epochLength: sequence.epochLength,
      accesses: fingerprintOf(sequence, epoch),
    };
  }

  /** Returns a snapshot of the counts so far and of what the prefetcher holds. */
  stats(): PrefetcherStats {
    const queue = this.#queue;
    return {
      ...queue.counts,
      skipped: this.#skips.count,
      stallMs: queue.waiters.stallMs,
      reading: queue.reading,
      ready: queue.readySamples,
      heldBytes: this.#opened.heldBytes(),
      lentBytes: queue.lender.bytes,
      tuning: this.#staging.tuning,
    };
  }

  /**
   * Returns the measurements, and a verdict on what limits this loader. The verdict covers the epoch that
   * consumers are in, or the one before while that epoch has too few samples.
   */
  profile(): PrefetcherProfile {
    const profile = this.#staging.profile();
    const epochs = this.#opened.epochs();
    const [before, now] = [this.#statsBefore, this.#origin.stats?.()];
    const stats = before === undefined || now === undefined ? undefined : statsBetween(before, now);
    const { verdict } = epochs.findLast((epoch) => epoch.verdict.limit !== 'unknown') ?? profile;
    return { ...profile, verdict, levels: levelsOf(stats), epochs };
  }

  /** As `SampleReader.close`; resolves when every read has stopped. */
  close(): Promise<void> {
    return this.#close('close');
  }

  /** Calls `close`, at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #close(by: 'close' | 'loop'): Promise<void> {
    this.#closed ??= this.#opened.close(prefetcherClosedError(by));
    return this.#closed;
  }

  async *#loopOver<T>(samples: AsyncIterableIterator<T>): AsyncIterableIterator<T> {
    let isAtEnd = false;
    this.#loop.began();
    try {
      yield* samples;
      isAtEnd = true;
    } finally {
      await this.#loop.ended(isAtEnd);
    }
  }
}
