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

/** What a queue is made of. */
export interface QueueParts {
  readonly origin: SampleSource | RequestOrigin;
  /** Makes the feed of its sequence, which calls back when a request has come. */
  readonly requests: (onReady: () => void) => RequestFeed;
  /** Where to begin. */
  readonly start: StartPosition;
  readonly lending: Lending;
  readonly skips: Skips;
  readonly clock: Clock;
  readonly ports: QueuePorts;
}

/** What became of samples so far. `PrefetcherStats` explains each count. */
export type QueueCounts = Readonly<Record<'samples' | 'bytes' | 'repeated' | 'bypassed' | 'dropped', number>>;

const NOTHING_TAKEN: Taken = Object.freeze({ samples: 0, bytes: 0, epoch: 0 });

/**
 * The samples of one sequence between their admission and their release.
 *
 * **Problem.** Samples come in order, from reads that end in any order, into memory that is bounded;
 * consumers take the next ones, or ask for objects by name, and give memory back whenever they like. None of
 * that may end in a deadlock.
 *
 * **Moving parts.** The *look-ahead* knows the next access and its size. *Admission* gives it memory,
 * strictly in order. The *window* holds what was admitted and not taken, in order. *Delivery* gives consumers
 * the samples at its head, or lets them wait; consumers may also pick an entry by its key. *Lent* samples
 * have left the window and hold their memory until they are released. A queue does nothing by itself. Its
 * owner calls `admit` and `read` when a producer is free; the *ports* tell the owner when that may be worth
 * it.
 *
 * **Invariants.** What is admitted precedes, in the sequence, all that is not (PRISMA's ordered admission). A
 * sample in the window is being read, or there, so a consumer that wants it gets it whatever else happens. If
 * a consumer waits for the next sample while the window is empty, that sample is admitted, if need be in
 * memory of its own. So no limit leads to a deadlock, even when consumers hold all memory. Beyond its limit a
 * queue holds one such sample in the window, and what its consumers do not release. Memory is given back
 * exactly once.
 */
export class SampleQueue {
  readonly waiters: Waiters;
  /** What consumers hold. */
  readonly lender: Lender;
  readonly room: Room;
  /** What keys are read from; undefined where there are none. */
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
  /** The error that ended it, and where it stood then. */
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

  /** Whether the next sample had no room when it was last looked at. */
  get isFull(): boolean {
    return this.#admission.isFull;
  }

  /** Whether a consumer waits for a sample that nobody is reading yet. */
  get isUrgent(): boolean {
    return this.#window.count === 0 && this.waiters.first() !== undefined;
  }

  /** Reads under way. */
  get reading(): number {
    return this.#window.count - this.#window.settled;
  }

  /** Samples that are there for their consumers. */
  get readySamples(): number {
    return this.#window.settled;
  }

  /** The first access that nobody has taken; undefined at the end, and while the sequence has not told it. */
  get next(): Access | undefined {
    return this.#delivery.next;
  }

  /** Bytes of the object that comes next, if that is known. */
  get upcomingBytes(): number | undefined {
    return this.#admission.upcomingBytes;
  }

  /** A snapshot of what was counted so far. */
  get counts(): QueueCounts {
    return { ...this.#counts, repeated: this.#admission.repeated };
  }

  /** Admits the next samples, as many as a producer reads at once and as there is room for. */
  admit(limits: BatchLimits): Entry[] {
    const batch = this.#admission.admit(limits);
    // Those who wait are to know that nothing more comes.
    if (this.ended) this.#delivery.serve();
    return batch;
  }

  /** Reads what was admitted. Never rejects. */
  read(batch: readonly Entry[]): Promise<void> {
    const reading = readEntries(this.#source, batch, this.#stop.signal).finally(() =>
      this.#reads.delete(reading),
    );
    this.#reads.add(reading);
    return reading;
  }

  /** @param epoch The one that they must be of: none at its end. Default: that of the first. */
  take(most: number, signal: AbortSignal | undefined, epoch?: number): Promise<readonly Sample[]> {
    return this.#delivery.take(most, signal, epoch);
  }

  /** The next sample, if it is there and nobody waits for it. As `take` otherwise. */
  takeNow(epoch: number | undefined): Sample | undefined {
    return this.#delivery.takeNow(epoch);
  }

  /** As `SampleReader.readInto`. */
  readByName(key: string, target: Uint8Array, options: SampleReadOptions): Promise<number> {
    return this.#named.readInto(key, target, options);
  }

  /** The first access that is not taken, those behind it that are, and what ran ahead. */
  position(): SequencePosition {
    if (this.#failure !== undefined) return this.#failure.position;
    const { next } = this;
    const taken = this.#window.gone().map(({ epoch, position }) => [epoch, position] as const);
    return { next, taken: [...taken, ...this.#ahead.taken], early: this.#ahead.early };
  }

  /** Ends it with this error for all who wait and come; reads that are under way are aborted. */
  end(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { error, position: this.position() };
    this.#ahead.end();
    if (this.#reads.size > 0 || this.lender.count > 0) this.#ports.memory.abandon();
    this.#stop.abort(error);
    void this.#named.end(error as Error);
    for (const entry of this.#window.entries()) {
      // The memory of one that is being read is written to until the read has ended.
      if (entry.isHeld) entry.fail(error);
      else if (entry.state === 'ready' || entry.state === 'failed') this.#window.remove(entry).free();
    }
    this.waiters.rejectAll(error);
    this.#ports.work.ended();
  }

  /** Ends it, takes lent samples back, and resolves when nothing is being read. */
  async close(error: unknown): Promise<void> {
    this.end(error);
    this.lender.releaseAll();
    await this.#named.end(error as Error);
    while (this.#reads.size > 0) await Promise.all(this.#reads);
  }

  /** Tells those who wait of an end that somebody else's call has found. */
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
        // In place of the read by name, so that it waits for no producer.
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
   * Consumers that ask by name may leave objects out, which would fill the window for good. If it is full,
   * and more of what came after its head was taken than is left in it, the head is given up; unless somebody
   * takes in order as well.
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

  /** One that failed ends the sequence where it stands, unless it is left out. */
  #mayGo(head: Entry): boolean {
    if (head.state !== 'failed') return head.state === 'ready';
    return this.#skips.areAllowed && !this.#skips.isTelling && !this.#admission.isBroken(head);
  }
}
