import {
  parseBytes,
  systemClock,
  type ByteSize,
  type Clock,
  type Hierarchy,
  type OperationOptions,
} from '@tiered/core';
import { configError, invariant, onAbort } from '@tiered/core/internal';
import Queue from 'yocto-queue';
import type { Access, AccessSequence } from './access-sequence.js';

/** A sample in the order of the sequence, with its bytes. */
export interface Sample extends Access {
  /** May be a view on a tier's memory: read it, do not write to it. */
  readonly data: Uint8Array;
}

/** Options of `Prefetcher`. */
export interface PrefetcherOptions extends OperationOptions {
  /** Reads under way at the same time, at least 1. Default: 4, what PRISMA's autotuner ends at (Cluster'21, section V). */
  readonly producers?: number;
  /**
   * Bytes of samples being read or waiting for the consumer, and 256 more for each. A sample larger than all of it is
   * read when nothing else is held, so every budget works. Default: 64 MiB.
   */
  readonly budget?: ByteSize;
  /** Default: the clock of the machine. */
  readonly clock?: Clock;
}

/** What a prefetcher did so far, and what it holds at this moment. */
export interface PrefetcherStats {
  /** Samples given to consumers, and their bytes. */
  readonly samples: number;
  readonly bytes: number;
  /** Milliseconds that consumers waited for a sample that was not there yet. */
  readonly stallMs: number;
  /** Reads under way. */
  readonly reading: number;
  /** Bytes of samples being read or waiting. */
  readonly heldBytes: number;
}

/** What a sample is charged beside its bytes: its own bookkeeping, so that empty objects are bounded too. */
const BYTES_A_SLOT = 256;

/**
 * Milliseconds after which a consumer lets the event loop turn. A loop over samples that are there already, with
 * computing that does not wait, would otherwise never let reads, timers and signals in. Costs a microsecond each time.
 */
const TURN_EVERY_MS = 5;

/** A sample that was admitted: being read, or waiting for its consumer. */
interface Slot {
  /** Its place in line. */
  readonly order: number;
  /** What it is charged. */
  readonly bytes: number;
  readonly sample: Promise<Sample>;
  ready: boolean;
}

/** A consumer that came before its sample was admitted. */
interface Waiting {
  readonly resolve: (slot: Slot | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** What the prefetcher reads from. */
export type SampleSource = Pick<Hierarchy, 'read' | 'stat'>;

/**
 * Reads the objects of an access sequence before the consumer asks for them (PRISMA, Cluster'21, section III).
 *
 * **Problem.** The order of accesses is known, so reads can be under way while the consumer computes; but memory is
 * bounded, and samples must come in order.
 *
 * **Moving parts.** *Admission* walks the sequence and lets the next sample in when a producer is free and its bytes
 * fit the budget; the size is known before the read. A *slot* holds an admitted sample until its consumer takes it.
 * Consumers take slots in order; several may wait at the same time, each gets the next sample.
 *
 * **Invariants.** Samples are admitted strictly in order, and the first one not yet taken is always admitted when
 * nothing is held: whatever the budget and the number of producers, the sample that a consumer waits for is being
 * read, so there is no deadlock. Held bytes exceed the budget only by a single sample that alone is larger. What was
 * given to a consumer is the consumer's and no longer counts.
 *
 * Iterate it once: `for await (const sample of prefetcher)`; a second loop over a finished one is refused. A failed read is thrown at its position and ends the
 * iteration; so does an abort, with `signal.reason`. Leaving the loop stops every read and waits for it.
 */
export class Prefetcher implements AsyncIterableIterator<Sample>, AsyncDisposable {
  readonly #source: SampleSource;
  readonly #accesses: Iterator<Access>;
  readonly #producers: number;
  readonly #budgetBytes: number;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  #stopListening: (() => void) | undefined;
  readonly #slots = new Queue<Slot>();
  readonly #waiting = new Queue<Waiting>();
  /** Slots that consumers wait for, in order. */
  readonly #taken = new Set<Slot>();
  readonly #reads = new Set<Promise<unknown>>();
  readonly #counts = { samples: 0, bytes: 0, stallMs: 0 };
  /** The sample whose turn it is, once its size is known. */
  #next: { readonly access: Access; readonly bytes: number } | undefined;
  #admitting = false;
  /** Nothing more is admitted: the sequence is at its end, or the iteration is. */
  #ended = false;
  /** Somebody was told that nothing more comes: a second loop would read nothing, and mean something else. */
  #finished = false;
  /** What ended it, for all samples that come after this one in line. */
  #failure: { readonly error: unknown; readonly after: number } | undefined;
  #offered = 0;
  #heldBytes = 0;
  #turnedAt: number;

  /**
   * @param source The hierarchy; it stays the caller's to close.
   * @param accesses A sequence from its beginning, or what its `from` gives in the middle of it.
   * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work.
   */
  constructor(
    source: SampleSource,
    accesses: AccessSequence | Iterable<Access>,
    options: PrefetcherOptions = {},
  ) {
    const { producers = 4, budget = '64MiB', clock = systemClock, signal } = options;
    if (!Number.isSafeInteger(producers) || producers < 1) {
      throw configError('producers', 'a whole number of at least 1', producers);
    }
    this.#source = source;
    this.#accesses = accesses[Symbol.iterator]();
    this.#producers = producers;
    this.#budgetBytes = parseBytes(budget, 'budget');
    this.#clock = clock;
    this.#turnedAt = clock.now();
    this.#stopListening = onAbort(signal, (reason) => this.#fail(reason));
    void this.#admit();
  }

  /** The next sample in order, as soon as it is there. */
  async next(): Promise<IteratorResult<Sample, undefined>> {
    if (this.#failure !== undefined) throw this.#failure.error;
    const ready = this.#slots.peek()?.ready === true;
    const start = ready ? 0 : this.#clock.now();
    try {
      const slot = this.#slots.dequeue() ?? (await this.#nextSlot());
      if (slot === undefined) return this.#done();
      return { done: false, value: await this.#take(slot) };
    } finally {
      if (!ready) this.#counts.stallMs += this.#clock.now() - start;
    }
  }

  /** Ends the iteration; resolves when every read has stopped. */
  async return(): Promise<IteratorResult<Sample, undefined>> {
    this.#end(new DOMException('The prefetcher was closed.', 'AbortError'));
    while (this.#reads.size > 0) await Promise.allSettled(this.#reads);
    return this.#done();
  }

  [Symbol.asyncIterator](): this {
    if (this.#finished && this.#failure === undefined)
      throw configError(
        'prefetcher',
        'one that was not iterated to its end; make a new one',
        'a finished one',
      );
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** A snapshot. */
  stats(): PrefetcherStats {
    return { ...this.#counts, reading: this.#reads.size, heldBytes: this.#heldBytes };
  }

  async #take(slot: Slot): Promise<Sample> {
    this.#taken.add(slot);
    try {
      if (this.#clock.now() - this.#turnedAt >= TURN_EVERY_MS) {
        await this.#clock.turn();
        this.#turnedAt = this.#clock.now();
      }
      const sample = await slot.sample;
      // It was on its way when an earlier one failed.
      if (this.#failure !== undefined && slot.order > this.#failure.after) throw this.#failure.error;
      this.#counts.samples += 1;
      this.#counts.bytes += sample.data.byteLength;
      return sample;
    } catch (error) {
      await this.#takenBefore(slot);
      this.#fail(error, slot.order);
      throw error;
    } finally {
      this.#taken.delete(slot);
      this.#heldBytes -= slot.bytes;
      void this.#admit();
    }
  }

  /** Consumers that came before this one have their samples: a failure must not take those away from them. */
  async #takenBefore(slot: Slot): Promise<void> {
    for (const earlier of this.#taken) {
      if (earlier === slot) return;
      await Promise.allSettled([earlier.sample]);
    }
  }

  /** The next slot for a consumer that found none: undefined at the end of the sequence. */
  #nextSlot(): Promise<Slot | undefined> {
    if (this.#ended) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => this.#waiting.enqueue({ resolve, reject }));
  }

  /** Admits samples, in order, as long as there is a producer and room. One loop at a time; never rejects. */
  async #admit(): Promise<void> {
    if (this.#admitting) return;
    this.#admitting = true;
    while (!this.#ended && this.#reads.size < this.#producers) {
      this.#next ??= await this.#lookAhead();
      if (this.#ended || this.#next === undefined) break;
      const { access, bytes } = this.#next;
      if (this.#heldBytes > 0 && this.#heldBytes + bytes > this.#budgetBytes) break;
      this.#next = undefined;
      this.#offer(bytes, this.#read(access));
    }
    this.#admitting = false;
  }

  /** The next access with what it will be charged; undefined at the end, or if its size cannot be had. */
  async #lookAhead(): Promise<{ access: Access; bytes: number } | undefined> {
    try {
      const step = this.#accesses.next();
      if (step.done === true) {
        this.#endOfSequence();
        return undefined;
      }
      const access = step.value;
      const { size } = await this.#source.stat(access.key, { signal: this.#stop.signal });
      return { access, bytes: size + BYTES_A_SLOT };
    } catch (error) {
      // Thrown where the sample would have been; nothing comes after it.
      if (!this.#ended) this.#offer(0, Promise.reject(error));
      this.#endOfSequence();
      return undefined;
    }
  }

  async #read(access: Access): Promise<Sample> {
    const data = await this.#source.read(access.key, { signal: this.#stop.signal });
    return { key: access.key, epoch: access.epoch, position: access.position, data };
  }

  /** Puts a sample in line, or gives it to the consumer that has waited longest. */
  #offer(bytes: number, sample: Promise<Sample>): void {
    const slot: Slot = { order: this.#offered, bytes, sample, ready: false };
    this.#offered += 1;
    this.#heldBytes += bytes;
    const settled = () => {
      slot.ready = true;
      this.#reads.delete(sample);
      void this.#admit();
    };
    this.#reads.add(sample);
    sample.then(settled, settled);
    const consumer = this.#waiting.dequeue();
    if (consumer === undefined) this.#slots.enqueue(slot);
    else consumer.resolve(slot);
  }

  #endOfSequence(): void {
    this.#ended = true;
    for (const consumer of this.#waiting.drain()) consumer.resolve(undefined);
  }

  #fail(error: unknown, after = -1): void {
    this.#failure ??= { error, after };
    for (const consumer of this.#waiting.drain()) consumer.reject(error);
    this.#end(error);
  }

  #done(): IteratorResult<Sample, undefined> {
    this.#finished = true;
    this.#stopListening?.();
    return { done: true, value: undefined };
  }

  /** Stops every read and drops what nobody has taken. */
  #end(reason: unknown): void {
    this.#endOfSequence();
    this.#stopListening?.();
    this.#stop.abort(reason);
    this.#accesses.return?.();
    for (const slot of this.#slots.drain()) this.#heldBytes -= slot.bytes;
    invariant(this.#heldBytes >= 0, `the prefetcher holds ${this.#heldBytes} bytes`);
  }
}
