import { onAbort } from '../support/abort.js';
import type { Clock } from '../support/clock.js';
import type { StorageDriver } from '../driver/driver.js';
import { TieredError } from '../support/errors.js';

/** Looks at the reads under way in the time of a deadline: a read is given up after one to one and a quarter of it. */
const LOOKS = 4;

/**
 * Bytes a second that a read may count on beyond its deadline. Less than any disk gives, so that a large read is late
 * only where nothing comes at all.
 */
const LEAST_RATE = 4 * 1024 * 1024;

/** Reads that began between two looks. They share a signal: to make one takes longer than to read what is in memory. */
interface Cohort {
  /** The number of the last look before it. */
  readonly began: number;
  readonly controller: AbortController;
  readonly reads: Read[];
  /** Of its largest read. */
  bytes: number;
  /** Why it was given up. */
  late: TieredError | undefined;
}

interface Read {
  readonly cohort: Cohort;
  /** Where it is among the reads of its cohort. */
  at: number;
  /** Of its own, if its reader has a signal. */
  readonly controller: AbortController;
  /** Lets the reader go; undefined if it has to wait for the driver. */
  readonly leave: ((reason: Error) => void) | undefined;
}

/** Both ends of a promise. */
interface Settling<T> {
  readonly resolve: (result: T) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The reads of a tier that are under way, each with a deadline.
 *
 * **Problem.** A disk or a mount can stop answering without an error. Whoever reads from it must not wait for ever, and
 * a storage that is only busy must not be taken for one that hangs. Most reads end within microseconds, so a timer for
 * each would cost more than they do.
 *
 * **Way.** One sleeper looks at all of them a few times in the time of a deadline, while there are any. Ages are
 * counted in looks, not in milliseconds: where the process itself computed for a minute, the storage has not been slow.
 * A read is late that is older than the deadline, if meanwhile no read at all was served, or one was that began a whole
 * deadline later. So what only waits in a queue is not late, and one read that hangs among others that pass it is.
 *
 * A late read is aborted. Then a reader of `leave` is let go at once, and one of `hold` when the driver has let go of
 * its memory.
 */
export class TierReads {
  readonly deadlineMs: number;
  readonly #driver: StorageDriver;
  readonly #clock: Clock;
  readonly #ending = new AbortController();
  /** Oldest first. Reads join the last one, until the next look. */
  readonly #cohorts: Cohort[] = [];
  #joined: Cohort | undefined;
  #looking = false;
  #look = 0;
  /** At which look a read was served last, and when the youngest of those that were had begun. */
  #servedAt = 0;
  #youngestServed = 0;
  /** Calls of the driver that have not ended; of these, which nobody waits for, or only because of their memory. */
  #calls = 0;
  #givenUp = 0;
  #stuck = 0;
  #onDrained: (() => void) | undefined;

  constructor(driver: StorageDriver, clock: Clock, deadlineMs: number) {
    this.#driver = driver;
    this.#clock = clock;
    this.deadlineMs = deadlineMs;
  }

  /** Reads that are under way and in time. */
  get inTime(): number {
    return this.#calls - this.#givenUp;
  }

  /** Calls that were aborted and are still not done with the memory of their readers. */
  get stuck(): number {
    return this.#stuck;
  }

  /** Whether the driver is done with every call. */
  get areDone(): boolean {
    return this.#calls === 0;
  }

  /**
   * A read into memory that nobody else has: its reader is let go when it is late, aborts, or at the end, whatever the
   * driver does then.
   * @param bytes How much is asked for: a large read has more time.
   * @throws TieredError `TIERED_DEADLINE` if it is late.
   */
  leave<T>(
    bytes: number,
    signal: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => this.#run(bytes, signal, call, { resolve, reject }, reject));
  }

  /** A read into memory of its reader, who gets it back when the driver has let go of it. Else as `leave`. */
  hold<T>(
    bytes: number,
    signal: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) =>
      this.#run(bytes, signal, call, { resolve, reject }, undefined),
    );
  }

  /**
   * Aborts every read and refuses new ones. Resolves when the driver is done with all of them, or has not been for as
   * long as a deadline. Idempotent.
   */
  async end(reason: Error): Promise<void> {
    this.#ending.abort(reason);
    for (const { reads, controller } of this.#cohorts) {
      controller.abort(reason);
      for (const read of reads) abort(read, reason);
    }
    if (this.#calls === 0) return;
    const patience = new AbortController();
    const drained = new Promise<void>((resolve) => {
      this.#onDrained = resolve;
    });
    const waited = this.#clock.sleep(this.deadlineMs, patience.signal).catch(() => undefined);
    await Promise.race([drained, waited]);
    patience.abort();
  }

  #run<T>(
    bytes: number,
    signal: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<T>,
    { resolve, reject }: Settling<T>,
    leave: Read['leave'],
  ): void {
    this.#ending.signal.throwIfAborted();
    signal?.throwIfAborted();
    const cohort = this.#joined ?? this.#newCohort();
    if (bytes > cohort.bytes) cohort.bytes = bytes;
    const controller = signal === undefined ? cohort.controller : new AbortController();
    const read: Read = { cohort, controller, leave, at: cohort.reads.length };
    cohort.reads.push(read);
    this.#calls += 1;
    const stopListening = signal && onAbort(signal, (reason) => abort(read, reason));
    called(call, controller.signal).then(
      (result) => {
        stopListening?.();
        this.#servedAt = this.#look;
        if (cohort.began > this.#youngestServed) this.#youngestServed = cohort.began;
        this.#done(read);
        resolve(result);
      },
      (error: unknown) => {
        stopListening?.();
        this.#done(read);
        reject(cohort.late ?? error);
      },
    );
  }

  #done(read: Read): void {
    const { cohort, leave } = read;
    remove(cohort.reads, read);
    this.#calls -= 1;
    if (cohort.late !== undefined) {
      this.#givenUp -= 1;
      if (leave === undefined) this.#stuck -= 1;
    }
    if (this.#calls === 0) this.#onDrained?.();
  }

  #newCohort(): Cohort {
    const controller = new AbortController();
    const cohort: Cohort = { began: this.#look, controller, reads: [], bytes: 0, late: undefined };
    this.#cohorts.push(cohort);
    this.#joined = cohort;
    if (!this.#looking) void this.#keepLooking();
    return cohort;
  }

  async #keepLooking(): Promise<void> {
    this.#looking = true;
    try {
      while (this.#cohorts.length > 0) {
        await this.#clock.sleep(this.deadlineMs / LOOKS, this.#ending.signal, { background: true });
        this.#lookAtAll();
      }
    } catch {
      // All reads have been ended, and no other begins.
    } finally {
      this.#looking = false;
    }
  }

  #lookAtAll(): void {
    this.#look += 1;
    this.#joined = undefined;
    for (const cohort of this.#cohorts.splice(0)) {
      if (cohort.reads.length === 0) continue;
      const ms = this.deadlineMs + (cohort.bytes / LEAST_RATE) * 1000;
      if (this.#isLate(cohort, Math.round((ms / this.deadlineMs) * LOOKS))) this.#giveUp(cohort, ms);
      else this.#cohorts.push(cohort);
    }
  }

  #isLate({ began }: Cohort, looks: number): boolean {
    if (this.#look - began <= looks) return false;
    return this.#look - this.#servedAt > looks || this.#youngestServed - began > looks;
  }

  #giveUp(cohort: Cohort, ms: number): void {
    const { name } = this.#driver;
    const message = `${name} did not end a read within ${Math.ceil(ms)} ms; the read was aborted.`;
    const error = new TieredError('TIERED_DEADLINE', message, {
      driver: name,
      operation: 'read',
      retryable: true,
    });
    cohort.late = error;
    this.#givenUp += cohort.reads.length;
    for (const { leave } of cohort.reads) if (leave === undefined) this.#stuck += 1;
    cohort.controller.abort(error);
    for (const read of cohort.reads) abort(read, error);
  }
}

/** Drivers are to reject; one that throws must not leave its read under way for ever. */
function called<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return call(signal);
  } catch (error) {
    return Promise.reject(error);
  }
}

function abort({ controller, leave }: Read, reason: Error): void {
  controller.abort(reason);
  leave?.(reason);
}

/**
 * Takes a read out of those of its cohort. Not a Set: one of objects that live so shortly costs the collector more than
 * they do.
 */
function remove(reads: Read[], { at }: Read): void {
  const last = reads.pop();
  if (last === undefined || at === reads.length) return;
  reads[at] = last;
  last.at = at;
}
