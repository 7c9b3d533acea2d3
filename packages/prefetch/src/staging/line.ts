import type { Access } from '../sequence/access-sequence.js';
import { blockOfItsOwn, type Block } from './arena.js';
import { Entry } from './entry.js';
import { tooLargeError } from '../errors.js';
import { Lender } from './lender.js';
import type { LineMemory } from './line-memory.js';
import { LookAhead, type Upcoming } from './look-ahead.js';
import type { BatchLimits, LineHost, LineParts, Taken } from './line-parts.js';
import { NamedReads } from './named-reads.js';
import { readEntries } from './read-entries.js';
import { Room } from './room.js';
import type { Sample, SampleReadOptions } from '../sample.js';
import type { SequencePosition } from '../sequence/position.js';
import type { SampleSource } from '../source.js';
import type { Skips } from './skips.js';
import { Waiters } from './waiters.js';
import { Window } from './window.js';

/**
 * The samples of one sequence between their admission and their release.
 *
 * **Problem.** Samples come in order, from reads that end in any order, into memory that is bounded; consumers take
 * the next ones, or ask for objects by name, and give memory back whenever they like. None of that may end in
 * everybody waiting for everybody.
 *
 * **Moving parts.** The *look-ahead* knows the next access and its size. *Admission* gives it memory, strictly in
 * order. The *window* holds what was admitted and not taken, in order. *Consumers* take from its head, or wait; or
 * pick an entry by its key. *Lent* samples have left the window and hold their memory until they are released.
 *
 * **Invariants.** What is admitted precedes, in the sequence, all that is not (PRISMA's ordered admission). What is in the window
 * is being read, or there, so whoever wants it gets it whatever else happens. A consumer that waits for the next
 * sample while the window is empty gets it admitted, if need be in memory of its own: so there is no deadlock with any
 * limit, also when consumers hold all memory. Beyond its limit a line holds one such sample in the window, and what
 * its consumers do not release. Memory is given back exactly once.
 */
export class Line {
  readonly weight: number;
  readonly memory: LineMemory;
  readonly waiters: Waiters;
  readonly counts = { samples: 0, bytes: 0, repeated: 0, bypassed: 0, dropped: 0 };
  readonly #source: SampleSource;
  readonly #host: LineHost;
  readonly #onEnd: () => void;
  readonly #stop = new AbortController();
  readonly #ahead: LookAhead;
  readonly #window = new Window();
  /** What consumers hold. */
  readonly lender: Lender;
  readonly room: Room;
  readonly #skips: Skips;
  readonly #named: NamedReads;
  readonly #reads = new Set<Promise<void>>();
  #admitted = 0;
  readonly #onSettled = (entry: Entry) => this.#settled(entry);
  /** Whether the next sample had no room when it was last looked at. */
  isFull = false;
  #isToServe = false;
  /** Whether somebody is just being told of a sample that is left out, which is still the first. */
  #isTelling = false;
  /** Where the sequence itself failed: that is no sample, and is not left out. */
  #broken: Entry | undefined;
  /** The access that was looked at last: one that has no room is told of once. */
  #refused: Access | undefined;
  /** Whether somebody takes samples in order, and is to get all of them. */
  #isInOrder = false;
  /** What ended it, and where it stood then. */
  #failure: { readonly error: unknown; readonly position: SequencePosition } | undefined;

  constructor({ source, accesses, start, weight, lending, skips, onEnd, memory, host }: LineParts) {
    this.weight = weight;
    this.memory = memory;
    this.waiters = new Waiters(host.clock, (change) => host.starving(change));
    this.#source = source;
    this.#host = host;
    this.#skips = skips;
    this.lender = new Lender(lending, () => host.released());
    this.room = new Room(this.#window, this.lender, memory, this.waiters);
    this.#onEnd = onEnd;
    this.#ahead = new LookAhead({
      source,
      accesses,
      start,
      signal: this.#stop.signal,
      onKnown: () => host.wake(),
      onPassed: (access) => this.#window.pass(access),
    });
    this.#named = this.#namedReads();
  }

  /** Whether its source reads many objects at once. */
  get readsBatches(): boolean {
    return this.#source.readMany !== undefined;
  }

  /** Whether nothing more will be admitted. */
  get ended(): boolean {
    return this.#ahead.ended;
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
    return this.#window.head()?.access ?? this.#ahead.access;
  }

  /** Bytes of the object that comes next, if that is known. */
  get upcomingBytes(): number | undefined {
    const next = this.#peek();
    return next?.failure === undefined ? next?.size : undefined;
  }

  /** Admits the next samples, as many as a producer reads at once and as there is room for. */
  admit(limits: BatchLimits): Entry[] {
    const batch: Entry[] = [];
    let bytes = 0;
    this.isFull = false;
    while (batch.length < limits.samples && !this.room.areProducersBusy) {
      const next = this.#peek();
      if (next === undefined || (batch.length > 0 && bytes + next.size > limits.bytes)) break;
      const block = this.#blockFor(next);
      this.isFull = block === undefined;
      if (block === undefined && this.#refused !== next.access) this.#host.refused();
      this.#refused = next.access;
      if (block === undefined) break;
      const same = this.#window.find(next.access.key);
      const entry = this.#enter(next.access, next.size, block);
      bytes += next.size;
      if (this.#named.hold(entry, next.failure)) continue;
      // What is there already, or on its way, is not read again.
      if (next.failure !== undefined) this.#fail(entry, next.failure.error);
      else if (same?.state === 'reading' || same?.state === 'ready') {
        entry.follow(same);
        this.counts.repeated += 1;
      } else batch.push(entry);
    }
    // Those who wait are to know that nothing more comes.
    if (this.ended) this.#serve();
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
  async take(most: number, signal: AbortSignal | undefined, epoch?: number): Promise<readonly Sample[]> {
    signal?.throwIfAborted();
    this.#isInOrder = true;
    if (this.waiters.first() === undefined && !this.#isTelling) {
      const samples = this.#collect(most, epoch);
      if (samples !== undefined) return samples;
    }
    const waiting = this.waiters.wait({ most, epoch }, signal);
    this.#host.wake();
    return waiting;
  }

  /** The next sample, if it is there and nobody waits for it. As `take` otherwise. */
  takeNow(epoch: number | undefined): Sample | undefined {
    const head = this.#window.head();
    if (head?.state !== 'ready' || (epoch !== undefined && epoch !== head.access.epoch)) return undefined;
    if (this.#failure !== undefined || this.#isTelling || this.waiters.first()) return undefined;
    this.#isInOrder = true;
    return this.#collect(1, epoch)?.[0];
  }

  /** As `SampleReader.read`. */
  readByName(key: string, target: Uint8Array, options: SampleReadOptions): Promise<number> {
    return this.#named.read(key, target, options);
  }

  /** Where the line stands: the first access that is not taken, those behind it that are, and what ran ahead. */
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
    this.#stop.abort(error);
    void this.#named.end(error as Error);
    for (const entry of this.#window.entries()) {
      // The memory of one that is being read is written to until the read has ended.
      if (entry.isHeld) entry.fail(error);
      else if (entry.state === 'ready' || entry.state === 'failed') this.#window.remove(entry).free();
    }
    this.waiters.rejectAll(error);
    this.#onEnd();
  }

  /** Ends it, takes lent samples back, and resolves when nothing is being read. */
  async close(error: unknown): Promise<void> {
    this.end(error);
    this.lender.releaseAll();
    await this.#named.end(error as Error);
    while (this.#reads.size > 0) await Promise.all(this.#reads);
  }

  #peek(): Upcoming | undefined {
    try {
      return this.#ahead.peek();
    } catch (error) {
      // It has no more accesses.
      this.#ahead.end();
      this.#broken = this.#enter(this.#ahead.place, 0, blockOfItsOwn(0));
      this.#broken.fail(error);
      return undefined;
    }
  }

  /** What cannot even be begun fails where the sample would have been, and ends what is read ahead, unless it is skipped. */
  #fail(entry: Entry, error: unknown): void {
    if (this.#skips.areAllowed) this.#host.wake();
    else this.#ahead.end();
    entry.fail(error);
  }

  #blockFor({ access, size }: Upcoming): Block | undefined {
    try {
      return this.room.take(size);
    } catch (error) {
      this.#fail(this.#enter(access, 0, blockOfItsOwn(0)), tooLargeError(access.key, size, error));
      return undefined;
    }
  }

  #enter(access: Access, size: number, block: Block): Entry {
    this.#ahead.advance();
    const entry = new Entry(access, size, this.#admitted, block, this.memory, this.#onSettled);
    this.#admitted += 1;
    this.#window.add(entry);
    return entry;
  }

  #settled(entry: Entry): void {
    this.#window.settled += 1;
    if (this.#failure !== undefined) {
      this.#window.remove(entry).free();
      return;
    }
    this.#host.moved(NOTHING_TAKEN);
    // Not at once: the rest of its batch may be there in a moment, and one consumer is to get more than one of it.
    if (!this.#isToServe) queueMicrotask(() => this.#serve());
    this.#isToServe = true;
  }

  /** Tells those who wait of an end that somebody else's call has found. */
  tellEnd(): void {
    if (this.ended && this.isUrgent) this.#serve();
  }

  #namedReads(): NamedReads {
    return new NamedReads({
      source: this.#source,
      window: this.#window,
      waiters: this.waiters,
      failure: () => this.#failure,
      onTaken: (taken) => {
        this.#taken(taken);
        this.#host.wake();
      },
      onBypass: () => {
        this.counts.bypassed += 1;
        this.#dropStale();
      },
      onEarly: (key) => {
        this.#ahead.readEarly(key);
        this.#host.wake();
      },
      onGivenBack: (entry, failure) => {
        // In place of the read by name, so that it waits for no producer.
        if (failure === undefined) void this.read([entry]).then(() => this.#host.wake());
        else this.#fail(entry, failure.error);
      },
    });
  }

  /** Gives what is there to those who wait. */
  #serve(): void {
    this.#isToServe = false;
    // Afterwards: the first is still the one that is told of.
    if (this.#isTelling) return;
    this.waiters.serve(({ most, epoch }) => this.#collect(most, epoch));
  }

  /**
   * The samples at the head of the window that are there; none at the end, also that of the epoch; undefined if the first is
   * still to come.
   */
  #collect(most: number, epoch: number | undefined): Sample[] | undefined {
    if (this.#failure !== undefined) throw this.#failure.error;
    this.#skipFailed(epoch);
    if (epoch !== undefined && (this.next?.epoch ?? epoch) !== epoch) return [];
    const samples: Sample[] = [];
    let bytes = 0;
    for (
      let head = this.#window.head();
      head !== undefined && samples.length < most;
      head = this.#window.head()
    ) {
      if (head.state !== 'ready' || (samples[0]?.epoch ?? head.access.epoch) !== head.access.epoch) break;
      const size = head.bytes.byteLength;
      try {
        samples.push(this.lender.lend(head, this.#window));
      } catch (error) {
        // There is no memory for a copy; it is told when it comes first.
        if (samples.length > 0) break;
        this.end(error);
        throw error;
      }
      bytes += size;
    }
    const [first] = samples;
    if (first !== undefined) this.#taken({ samples: samples.length, bytes, epoch: first.epoch });
    else if (!this.ended || this.#window.head() !== undefined) return undefined;
    else this.#onEnd();
    return samples;
  }

  /** Leaves out failed samples at the head of the window, as far as that is allowed. */
  #skipFailed(epoch: number | undefined): void {
    for (let head = this.#window.head(); head?.state === 'failed'; head = this.#window.head()) {
      // What comes after this epoch is not for this consumer.
      if (epoch !== undefined && head.access.epoch !== epoch) return;
      const reason = head === this.#broken ? { error: head.error } : this.#leaveOut(head);
      if (reason !== undefined) this.end(reason.error);
      // Whoever was told may have ended it as well, which has taken this one out.
      if (this.#failure !== undefined) throw this.#failure.error;
      this.#window.remove(head).free();
      // Not at once: whoever is woken may serve the consumer that this is for. Whoever was told may have asked for another one.
      queueMicrotask(() => {
        this.#serve();
        this.#host.wake();
      });
    }
  }

  #leaveOut({ access, error }: Entry): { readonly error: unknown } | undefined {
    this.#isTelling = true;
    try {
      return this.#skips.skip(access, error);
    } finally {
      this.#isTelling = false;
    }
  }

  #taken(taken: Taken): void {
    this.counts.samples += taken.samples;
    this.counts.bytes += taken.bytes;
    this.#host.moved(taken);
  }

  /**
   * Consumers that ask by name may leave objects out, which would fill the window for good. If it is full, and more of
   * what came after its head was taken than is left in it, the head is given up; unless somebody takes in order as well.
   */
  #dropStale(): void {
    const head = this.#window.head();
    // One that failed ends the sequence where it stands, unless it is left out.
    const mayBeLeftOut = this.#skips.areAllowed && !this.#isTelling && head !== this.#broken;
    const mayGo = head?.state === 'ready' || (head?.state === 'failed' && mayBeLeftOut);
    if (!this.isFull || this.#isInOrder || head === undefined || !mayGo) return;
    const takenBehind = this.#admitted - head.order - this.#window.count;
    if (takenBehind <= this.#window.count) return;
    this.#window.remove(head).free();
    this.counts.dropped += 1;
    this.#host.wake();
  }
}

const NOTHING_TAKEN: Taken = Object.freeze({ samples: 0, bytes: 0, epoch: 0 });
