import type { Clock } from '@tiered/core';
import type { RequestFeed } from '../sequence/access-feed.js';
import type { Access } from '../sequence/access-sequence.js';
import { Admission, type BatchLimits } from './admission.js';
import { Delivery } from './delivery.js';
import type { Entry } from './entry.js';
import { Lender, type Lending } from './lender.js';
import { LookAhead } from './look-ahead.js';
import { NamedReads } from './named-reads.js';
import type { QueuePorts, Taken } from './queue-ports.js';
import { readEntries } from './read-entries.js';
import { Room } from './room.js';
import { keyedSourceOf, type RequestOrigin, type SampleSource } from '../request.js';
import type { Sample, SampleReadOptions } from '../sample.js';
import type { SequencePosition, StartPosition } from '../state.js';
import type { Skips } from './skips.js';
import { Waiters } from './waiters.js';
import { Window } from './window.js';

/** Dependencies of a queue. */
export interface QueueParts {
  readonly origin: SampleSource | RequestOrigin;
  /** Makes the feed of its sequence, which calls back when a request has arrived. */
  readonly requests: (onReady: () => void) => RequestFeed;
  /** The position to begin at. */
  readonly start: StartPosition;
  readonly lending: Lending;
  readonly skips: Skips;
  readonly clock: Clock;
  readonly ports: QueuePorts;
}

/** Counts of samples so far. `PrefetcherStats` explains each of them. */
export type QueueCounts = Readonly<Record<'samples' | 'bytes' | 'repeated' | 'bypassed' | 'dropped', number>>;

const NOTHING_TAKEN: Taken = Object.freeze({ samples: 0, bytes: 0, epoch: 0 });

/**
 * The samples of one sequence between their admission and their release.
 *
 * **Problem.** Samples are delivered in order, but their reads end in any order, and memory is bounded.
 * Consumers take the next samples, or ask for objects by name, and release memory whenever they like. None of
 * this may deadlock.
 *
 * **Moving parts.** The *look-ahead* knows the next access and its size. *Admission* gives it memory,
 * strictly in order. The *window* holds the entries that were admitted and not taken, in order. *Delivery*
 * gives consumers the samples at its head, or lets them wait; consumers may also pick an entry by its key.
 * *Lent* samples have left the window and hold their memory until they are released. A queue does nothing by
 * itself. Its owner calls `admit` and `read` when a producer is free; the *ports* tell the owner when that
 * may be worth it.
 *
 * **Invariants.** Admitted samples precede, in the sequence, all that are not admitted (PRISMA's ordered
 * admission). A sample in the window is being read or ready, so a consumer that wants it gets it whatever
 * else happens. If a consumer waits for the next sample while the window is empty, that sample is admitted,
 * if need be in memory of its own. So no limit leads to a deadlock, even when consumers hold all memory.
 * Beyond its limit a queue holds one such sample in the window, and the samples that its consumers do not
 * release. Memory is freed exactly once.
 */
export class SampleQueue {
  readonly waiters: Waiters;
  /** Samples that consumers hold. */
  readonly lender: Lender;
  readonly room: Room;
  /** The source of keys; undefined if there are no keys. */
  readonly #source: SampleSource | undefined;
  readonly #ports: QueuePorts;
  readonly #skips: Skips;
  readonly #stop = new AbortController();
  readonly #ahead: LookAhead;
  readonly #window = new Window();
  readonly #admission: Admission;
  readonly #delivery: Delivery;
  readonly #named: NamedReads;
  readonly #reads = new Set<Promise<void>>();
  readonly #counts = { samples: 0, bytes: 0, bypassed: 0, dropped: 0 };
  /** The error that ended it, and its position then. */
  #failure: { readonly error: unknown; readonly position: SequencePosition } | undefined;

  constructor({ origin, requests, start, lending, skips, clock, ports }: QueueParts) {
    const { memory, work, flow } = ports;
    this.waiters = new Waiters(clock, (change) => flow.starving(change));
    this.#source = keyedSourceOf(origin);
    this.#ports = ports;
    this.#skips = skips;
    this.lender = new Lender(lending, () => work.released());
    this.room = new Room(this.#window, this.lender, memory, this.waiters);
    this.#ahead = new LookAhead({
      requests,
      start,
      signal: this.#stop.signal,
      onKnown: () => work.available(),
      onPassed: (request) => this.#window.pass(request),
    });
    this.#named = this.#namedReads();
    this.#admission = new Admission({
      hierarchy: origin.name,
      ports,
      ahead: this.#ahead,
      window: this.#window,
      room: this.room,
      skips,
      hold: (entry, failure) => this.#named.hold(entry, failure),
      onSettled: (entry) => this.#settled(entry),
    });
    this.#delivery = new Delivery({
      window: this.#window,
      ahead: this.#ahead,
      waiters: this.waiters,
      lender: this.lender,
      skips,
      work,
      failure: () => this.#failure,
      isBroken: (entry) => this.#admission.isBroken(entry),
      onTaken: (taken) => this.#taken(taken),
      end: (error) => this.end(error),
    });
  }

  /** Whether its source reads many objects at once. */
  get readsBatches(): boolean {
    return this.#source?.readMany !== undefined;
  }

  /** Whether nothing more will be admitted. */
  get ended(): boolean {
    return this.#ahead.ended;
  }

  /** Whether the next sample had no room at the last attempt. */
  get isFull(): boolean {
    return this.#admission.isFull;
  }

  /** Whether a consumer waits for a sample that is not being read yet. */
  get isUrgent(): boolean {
    return this.#window.count === 0 && this.waiters.first() !== undefined;
  }

  /** Reads in flight. */
  get reading(): number {
    return this.#window.count - this.#window.settled;
  }

  /** Samples that are ready for consumers. */
  get readySamples(): number {
    return this.#window.settled;
  }

  /**
   * The first access that is not taken; undefined at the end, and while the sequence has not produced it yet.
   */
  get next(): Access | undefined {
    return this.#delivery.next;
  }

  /** Size of the next object in bytes, if known. */
  get upcomingBytes(): number | undefined {
    return this.#admission.upcomingBytes;
  }

  /** A snapshot of the counts so far. */
  get counts(): QueueCounts {
    return { ...this.#counts, repeated: this.#admission.repeated };
  }

  /** Admits the next samples, as many as a producer reads at once and as there is room for. */
  admit(limits: BatchLimits): Entry[] {
    const batch = this.#admission.admit(limits);
    // Waiting consumers need to know that nothing more comes.
    if (this.ended) this.#delivery.serve();
    return batch;
  }

  /** Reads admitted entries. Never rejects. */
  read(batch: readonly Entry[]): Promise<void> {
    const reading = readEntries(this.#source, batch, this.#stop.signal).finally(() =>
      this.#reads.delete(reading),
    );
    this.#reads.add(reading);
    return reading;
  }

  /**
   * @param epoch The epoch that the samples must belong to; at its end there are none. Default: that of the
   * first.
   */
  take(most: number, signal: AbortSignal | undefined, epoch?: number): Promise<readonly Sample[]> {
    return this.#delivery.take(most, signal, epoch);
  }

  /** Takes the next sample as `take` does, but only if it is ready and no consumer waits for it. */
  takeNow(epoch: number | undefined): Sample | undefined {
    return this.#delivery.takeNow(epoch);
  }

  /** As `SampleReader.readInto`. */
  readByName(key: string, target: Uint8Array, options: SampleReadOptions): Promise<number> {
    return this.#named.readInto(key, target, options);
  }

  /**
   * The first access that is not taken, the taken ones after it, and the reads by name ahead of the sequence.
   */
  position(): SequencePosition {
    if (this.#failure !== undefined) return this.#failure.position;
    const { next } = this;
    const taken = this.#window.gone().map(({ epoch, position }) => [epoch, position] as const);
    return { next, taken: [...taken, ...this.#ahead.taken], early: this.#ahead.early };
  }

  /** Ends the queue: waiting and later calls fail with this error, and reads in flight are aborted. */
  end(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { error, position: this.position() };
    this.#ahead.end();
    if (this.#reads.size > 0 || this.lender.count > 0) this.#ports.memory.abandon();
    this.#stop.abort(error);
    void this.#named.end(error as Error);
    for (const entry of this.#window.entries()) {
      // The memory of an entry that is being read is written to until the read has ended.
      if (entry.isHeld) entry.fail(error);
      else if (entry.state === 'ready' || entry.state === 'failed') this.#window.remove(entry).free();
    }
    this.waiters.rejectAll(error);
    this.#ports.work.ended();
  }

  /** Ends the queue, takes lent samples back, and resolves when nothing is being read. */
  async close(error: unknown): Promise<void> {
    this.end(error);
    this.lender.releaseAll();
    await this.#named.end(error as Error);
    while (this.#reads.size > 0) await Promise.all(this.#reads);
  }

  /** Tells waiting consumers of an end that another call has found. */
  tellEnd(): void {
    if (this.ended && this.isUrgent) this.#delivery.serve();
  }

  #settled(entry: Entry): void {
    this.#window.settled += 1;
    if (this.#failure !== undefined) {
      this.#window.remove(entry).free();
      return;
    }
    this.#ports.flow.moved(NOTHING_TAKEN);
    this.#delivery.serveSoon();
  }

  #namedReads(): NamedReads {
    const { work } = this.#ports;
    return new NamedReads({
      source: this.#source,
      window: this.#window,
      waiters: this.waiters,
      failure: () => this.#failure,
      onTaken: (taken) => {
        this.#taken(taken);
        work.available();
      },
      onBypass: () => {
        this.#counts.bypassed += 1;
        this.#dropStale();
      },
      onEarly: (key) => {
        this.#ahead.readEarly(key);
        work.available();
      },
      onGivenBack: (entry, failure) => {
        // It replaces the read by name, so it waits for no producer.
        if (failure === undefined) void this.read([entry]).then(() => work.available());
        else this.#admission.fail(entry, failure.error);
      },
    });
  }

  #taken(taken: Taken): void {
    this.#counts.samples += taken.samples;
    this.#counts.bytes += taken.bytes;
    this.#ports.flow.moved(taken);
  }

  /**
   * Consumers that ask by name may leave objects out, which would fill the window for good. If the window is
   * full, and more entries after its head were taken than are left in it, the head is dropped, unless a
   * consumer takes in order as well.
   */
  #dropStale(): void {
    const head = this.#window.head();
    if (!this.isFull || this.#delivery.isInOrder || head === undefined || !this.#mayGo(head)) return;
    const takenBehind = this.#admission.count - head.order - this.#window.count;
    if (takenBehind <= this.#window.count) return;
    this.#window.remove(head).free();
    this.#counts.dropped += 1;
    this.#ports.work.available();
  }

  /** A failed entry ends the sequence at its place, unless it is skipped. */
  #mayGo(head: Entry): boolean {
    if (head.state !== 'failed') return head.state === 'ready';
    return this.#skips.areAllowed && !this.#skips.isTelling && !this.#admission.isBroken(head);
  }
}
