import { onAbort } from '../support/abort.js';
import type { Clock } from '../support/clock.js';
import type { StorageDriver } from '../driver/driver.js';
import { TieredError } from '../support/errors.js';

/**
 * Checks of the reads in flight per deadline. A read is thus aborted after one to one and a quarter
 * deadlines.
 */
const LOOKS = 4;

/**
 * Bytes per second by which a large read extends its deadline. This is less than any disk delivers, so a
 * large read is late only if nothing comes at all.
 */
const LEAST_RATE = 4 * 1024 * 1024;

/**
 * Reads that began between two checks. They share a signal, because making one takes longer than reading from
 * memory.
 */
interface Cohort {
  /** The number of the last check before it. */
  readonly began: number;
  readonly controller: AbortController;
  readonly reads: Read[];
  /** Bytes of its largest read. */
  bytes: number;
  /** Why it was aborted. */
  late: TieredError | undefined;
}

interface Read {
  readonly cohort: Cohort;
  /** Its index among the reads of its cohort. */
  at: number;
  /** Its own if its reader has a signal, else that of the cohort. */
  readonly controller: AbortController;
  /** Rejects the reader's promise at once; undefined if the reader must wait for the driver. */
  readonly leave: ((reason: Error) => void) | undefined;
}

/** The resolvers of a promise. */
interface Settling<T> {
  readonly resolve: (result: T) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The reads of a tier that are in flight, each with a deadline.
 *
 * **Problem.** A disk or a mount can stop answering without an error. Its readers must not wait forever, and
 * busy storage must not be mistaken for storage that hangs. Most reads end within microseconds, so a timer
 * per read would cost more than the read.
 *
 * **Solution.** While there are reads, one timer checks all of them a few times per deadline. Ages are
 * counted in checks, not in milliseconds: if the process itself computed for a minute, the storage has not
 * been slow. A read is late if it is older than the deadline and one of two things is true: no read at all
 * was served meanwhile, or a read was served that began a whole deadline later. So a read that only waits in
 * a queue is not late. A read that hangs while others overtake it is late.
 *
 * A late read is aborted. A `leave` then rejects at once, and a `hold` once the driver has released the
 * reader's memory.
 */
export class TierReads {
  readonly deadlineMs: number;
  readonly #driver: StorageDriver;
  readonly #clock: Clock;
  readonly #ending = new AbortController();
  /** Oldest first. Reads join the last one, until the next check. */
  readonly #cohorts: Cohort[] = [];
  #joined: Cohort | undefined;
  #looking = false;
  #look = 0;
  /** The check at which a read was last served, and the check before which the youngest served read began. */
  #servedAt = 0;
  #youngestServed = 0;
  /**
   * Calls of the driver that have not ended; those of them that are late; and the late calls whose readers
   * wait for their memory.
   */
  #calls = 0;
  #givenUp = 0;
  #stuck = 0;
  #onDrained: (() => void) | undefined;

  constructor(driver: StorageDriver, clock: Clock, deadlineMs: number) {
    this.#driver = driver;
    this.#clock = clock;
    this.deadlineMs = deadlineMs;
  }

  /** Reads in flight that are not late. */
  get inTime(): number {
    return this.#calls - this.#givenUp;
  }

  /** Calls that were aborted and have not released the memory of their readers. */
  get stuck(): number {
    return this.#stuck;
  }

  /** Whether every call of the driver has ended. */
  get areDone(): boolean {
    return this.#calls === 0;
  }

  /**
   * Makes a read into memory of its own. Rejects as soon as the read is late, its signal aborts, or the tier
   * ends its reads, whatever the driver does then.
   * @param bytes Length of the read. A large read has more time.
   * @throws TieredError `TIERED_DEADLINE` if it is late.
   */
  leave<T>(
    bytes: number,
    signal: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => this.#run(bytes, signal, call, { resolve, reject }, reject));
  }

  /** As `leave`, for a read into memory of its reader. Settles when the driver has released that memory. */
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
   * Aborts every read and refuses new ones. Resolves when the driver has ended all of them, at the latest
   * after a deadline. Idempotent.
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
      // All reads were ended, and no other begins.
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

/** Drivers should reject. A driver that throws must not leave its read in flight forever. */
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
 * Removes a read from its cohort. The cohort is not a Set, because a Set of such short-lived objects costs
 * the collector more than the objects do.
 */
function remove(reads: Read[], { at }: Read): void {
  const last = reads.pop();
  if (last === undefined || at === reads.length) return;
  reads[at] = last;
  last.at = at;
}
