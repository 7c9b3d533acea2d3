import {
  statsBetween,
  systemClock,
  type Clock,
  type HierarchyStats,
  type OperationOptions,
} from '@tiered/core';
import { assertCounts, configError, onAbort } from '@tiered/core/internal';
import { prefetcherClosedError, rangeInvalidError } from './errors.js';
import { levelsOf } from './observe/epochs.js';
import { lendingOf, skipsOf, stagingOf, type PrefetcherOptions } from './prefetcher-options.js';
import type { PrefetcherProfile, PrefetcherStats } from './prefetcher-stats.js';
import { batchesOf, samplesOf, type LoopListener, type SampleTaker } from './sample-loop.js';
import type { Sample, SampleReader, SampleReadOptions } from './sample.js';
import { feedOf } from './sequence/access-feed.js';
import { isIterable, sequenceOf, type Accesses } from './sequence/accesses.js';
import { fingerprintOf } from './sequence/fingerprint.js';
import { BEGINNING } from './sequence/position.js';
import type { SampleSource } from './source.js';
import type { OpenedQueue } from './staging/producers.js';
import type { SampleQueue } from './staging/sample-queue.js';
import type { Skips } from './staging/skips.js';
import { openQueue, type StagingBuffer } from './staging/staging-buffer.js';
import { remainingOf, withGivenBack, type PrefetcherState } from './state.js';

/**
 * Milliseconds after which a consumer lets the event loop turn. A loop over samples that are there already,
 * with computing that does not wait, would otherwise never let reads, timers and signals in. Costs a
 * microsecond each time.
 */
const TURN_EVERY_MS = 5;

/**
 * Reads the objects of an access sequence before consumers ask for them (PRISMA, Cluster'21, section III).
 *
 * Samples come in the order of the sequence, across epochs, and are views on a staging buffer that are lent
 * until they are released: by the loop that took them when it asks for the next, by `release()`, or by
 * `using`. Then the memory serves another sample, and so does a view that somebody kept: copy what you keep
 * (`data.slice()`), or have copies (option `copy`). Any number of consumers may take from it, each sample
 * goes to one.
 *
 * A read that failed is thrown at its position, and ends it, unless samples may be skipped (`onError`); so do
 * a sequence that throws, and an abort of the option `signal`, with its reason. The last loop over it that is
 * left early closes it, as leaving a loop over a stream of Node does; one over `epoch()` does not. A sequence
 * that is not read to its end is told by `return`; nobody waits for what it does then.
 *
 * What was read ahead is given as it was when it was read: a `rescan` of the hierarchy, between epochs say,
 * does not reach it. To have all that changed, keep the state, close, and resume another prefetcher with it.
 */
export class Prefetcher implements SampleReader {
  readonly #staging: StagingBuffer;
  readonly #source: SampleSource;
  readonly #accesses: Accesses;
  readonly #skips: Skips;
  readonly #clock: Clock;
  readonly #statsBefore: HierarchyStats | undefined;
  readonly #opened: OpenedQueue;
  readonly #queue: SampleQueue;
  #stopListening: () => void = () => undefined;
  #closed: Promise<void> | undefined;
  /** Samples that were taken for lists which nobody has got, or will get. */
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
   * Begins to read ahead in a moment, without being asked.
   * @param source The hierarchy; it stays the caller's to close.
   * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work, for accesses that cannot be
   * iterated, and for the state of another sequence (other keys, another order or seed); `TIERED_UNSUPPORTED`
   * for a state where the accesses are no sequence.
   */
  constructor(source: SampleSource, accesses: Accesses, options: PrefetcherOptions = {}) {
    const { priority = 1, clock = systemClock, signal, resume } = options;
    if (!isIterable(accesses))
      throw configError('accesses', 'an AccessSequence or an iterable of accesses', accesses);
    if (!(priority > 0 && priority < Infinity)) throw configError('priority', 'a positive number', priority);
    const remaining = resume === undefined ? accesses : remainingOf(sequenceOf(accesses), resume, 'resume');
    this.#staging = stagingOf(options);
    this.#source = source;
    this.#accesses = accesses;
    this.#skips = skipsOf(options);
    this.#clock = clock;
    this.#turnedAt = clock.now();
    this.#statsBefore = source.stats?.();
    this.#opened = openQueue(this.#staging, {
      source,
      accesses: (onReady) => feedOf(remaining, onReady),
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
   * The samples of one epoch: of that which the next sample belongs to when this is called; none at the end
   * of the sequence. Whoever leaves the loop early leaves the prefetcher open and the rest of the epoch to
   * the next who asks, `epoch()` as well. Loops over the same epoch share it. So an epoch a loop: in the
   * generator of a `tf.data.generator` for `fitDataset`, which yields tensors or copies because a dataset
   * holds what it is given (see the README), or validating in between. Closing the prefetcher is the
   * caller's.
   */
  epoch(): AsyncIterableIterator<Sample> {
    return samplesOf(this.#oneEpoch());
  }

  /** As `epoch`, in lists as `batches` gives them. */
  epochBatches(size: number): AsyncIterableIterator<readonly Sample[]> {
    return batchesOf(this.#oneEpoch(), size, this.#ungiven);
  }

  /** Takes from one epoch only. */
  #oneEpoch(): SampleTaker {
    let epoch = this.#queue.next?.epoch;
    const take = async (most: number) => {
      const samples = await this.#take(most, {}, epoch);
      // Of a stream that had not come yet.
      epoch ??= samples[0]?.epoch;
      return samples;
    };
    return { take, takeNow: () => (epoch === undefined ? undefined : this.#takeNow(epoch)) };
  }

  /** A sample that is there, unless the event loop is to turn first. */
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
   * @internal What its source knows of an object: for a server, which reads in pieces and must not mix
   * versions.
   */
  stat(key: string, options: OperationOptions): ReturnType<SampleSource['stat']> {
    return this.#source.stat(key, options);
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
   * Where it stands, to be kept with a checkpoint; also when it has ended, however it did: by `break`, a
   * throw, an abort, a failed read or `close`. Samples that consumers have taken count as done, also those
   * that they still hold; what was read ahead does not, and neither does what waits for a list that nobody
   * has got. After a failed read the sample that failed is the next. It carries a hash of what is read
   * (`PrefetcherState.accesses`), for which the first call in an epoch takes up to some 10 ms.
   * @throws TieredError `TIERED_UNSUPPORTED` if it reads accesses that are no sequence.
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

  /** A snapshot. */
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
   * What was measured, and what it says about the limit of this loader: in the epoch that consumers are in,
   * or the one before it as long as that has too few samples.
   */
  profile(): PrefetcherProfile {
    const profile = this.#staging.profile();
    const epochs = this.#opened.epochs();
    const [before, now] = [this.#statsBefore, this.#source.stats?.()];
    const stats = before === undefined || now === undefined ? undefined : statsBetween(before, now);
    const { verdict } = epochs.findLast((epoch) => epoch.verdict.limit !== 'unknown') ?? profile;
    return { ...profile, verdict, levels: levelsOf(stats), epochs };
  }

  /** As `SampleReader.close`; resolves when every read has stopped. */
  close(): Promise<void> {
    return this.#close('close');
  }

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
