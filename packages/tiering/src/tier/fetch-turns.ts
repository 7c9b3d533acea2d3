import { raceAbort, type Checksum } from '@tiered/core/internal';
import type { Clock } from '@tiered/core';
import type { HomeLocks } from '@tiered/core/driver';

/** Lock number shared by all processes that wait for another's fetch. No object has it. */
const WAITING = 0;
/** Milliseconds between checks for the copy of another process: the first pause, and the longest. */
const FIRST_LOOK_MS = 1;
const LAST_LOOK_MS = 16;
/** Longest wait in milliseconds for a fetch of another process, which may be stopped. */
const MOST_MS = 2000;
/** Milliseconds without any waiting, after a wait that timed out. */
const IMPATIENT_MS = 10_000;

/** The object to fetch. */
interface Fetched {
  readonly key: string;
  readonly version: string;
}

/** Dependencies of `FetchTurns`. */
export interface FetchTurnsParts {
  readonly locks: HomeLocks | undefined;
  readonly clock: Clock;
  readonly checksum: Checksum;
  readonly dataset: string;
  /** Whether the tier has other members now. */
  readonly isShared: () => boolean;
}

/**
 * Decides which of the processes that share a tier fetches an object for it (F1).
 *
 * **Problem.** Processes of one node read the same objects at the same time, and the source should serve each
 * object once. The fetching process may be killed or stopped at any instant. Most objects are fetched by a
 * single process, for which turns must cost next to nothing.
 *
 * **How.** A process that fetches an object holds an exclusive lock on its number, from before the request to
 * the source until the copy is in the index, or will not be. The kernel keeps these locks, and releases them
 * when the process ends. A process that does not get the lock checks, at growing intervals, whether the copy
 * is there or the lock is free. Meanwhile it holds one more lock, shared with all waiting processes. That
 * lock tells the others that the copies they gather are wanted, and they write them at once.
 *
 * **Invariants.** No process waits for longer than two seconds. After a wait that timed out, this process
 * does not wait for a while, and fetches as if there were no locks. Two objects with the same number wait for
 * each other, which costs only time. While the tier has one member, there are no calls.
 */
export class FetchTurns {
  readonly #parts: FetchTurnsParts;
  #locks: HomeLocks | undefined;
  /** How many turns of this process have a number, or wait. The kernel does not count them. */
  readonly #mine = new Map<number, number>();
  #impatientUntil = 0;

  constructor(parts: FetchTurnsParts) {
    this.#parts = parts;
    this.#locks = parts.locks;
  }

  /**
   * Begins a fetch. Returns the turn, which the caller has to end; the fetch of another process; or undefined
   * if no turn is needed.
   */
  begin({ key, version }: Fetched): FetchTurn | OtherFetch | undefined {
    if (!this.isShared) return undefined;
    const { checksum, dataset, clock } = this.#parts;
    const number = WAITING + 1 + checksum.text(`${dataset}\n${key}\n${version}`);
    const isMine = this.#mine.has(number) || this.#tried((locks) => locks.take(number));
    if (isMine === undefined) return undefined;
    if (isMine) return this.#turn(number);
    return clock.now() < this.#impatientUntil ? undefined : new OtherFetch(this, clock);
  }

  /** One more turn with a number that this process has, until the last of them ends. */
  #turn(number: number): FetchTurn {
    this.#mine.set(number, (this.#mine.get(number) ?? 0) + 1);
    let isOver = false;
    return {
      end: () => {
        if (isOver) return;
        isOver = true;
        const left = (this.#mine.get(number) ?? 0) - 1;
        if (left > 0) return void this.#mine.set(number, left);
        this.#mine.delete(number);
        this.#release(number);
      },
    };
  }

  /** Whether there are turns: the tier has several members, and locks. */
  get isShared(): boolean {
    return this.#locks !== undefined && this.#parts.isShared();
  }

  /** Whether another process waits for a fetch of this one. */
  get isWaitedFor(): boolean {
    return this.isShared && this.#tried((locks) => locks.isTaken(WAITING)) === true;
  }

  /** Tells other processes that this one waits for a fetch of theirs, until the returned turn ends. */
  wait(): FetchTurn {
    if (!this.#mine.has(WAITING)) this.#tried((locks) => locks.share(WAITING));
    return this.#turn(WAITING);
  }

  /** Called after a wait that timed out. */
  giveUp(): void {
    this.#impatientUntil = this.#parts.clock.now() + IMPATIENT_MS;
  }

  /** Also works without locks: a number that stays locked would keep the other processes waiting. */
  #release(number: number): void {
    try {
      this.#parts.locks?.release(number);
    } catch {
      this.#locks = undefined;
    }
  }

  /** Makes a call of the locks. If it fails, continues without locks. */
  #tried<T>(call: (locks: HomeLocks) => T): T | undefined {
    try {
      return this.#locks && call(this.#locks);
    } catch {
      this.#locks = undefined;
      return undefined;
    }
  }
}

/** Something that lasts until it is ended. Idempotent. */
export interface FetchTurn {
  readonly end: () => void;
}

/** A fetch in progress in another process. */
export class OtherFetch {
  readonly #turns: FetchTurns;
  readonly #clock: Clock;

  constructor(turns: FetchTurns, clock: Clock) {
    this.#turns = turns;
    this.#clock = clock;
  }

  /**
   * Repeats a check until it has a result. After two seconds, fetches of other processes are not waited for
   * any more.
   * @param look The check. Resolves to undefined while the other process still fetches. It obeys the signal
   * itself: its result is returned, whatever has aborted since.
   */
  async until<T>(
    look: () => Promise<T | undefined>,
    closing: AbortSignal,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const waiting = this.#turns.wait();
    try {
      const until = this.#clock.now() + MOST_MS;
      for (let ms = FIRST_LOOK_MS; ; ms = Math.min(2 * ms, LAST_LOOK_MS)) {
        await raceAbort(this.#clock.sleep(ms, closing), signal);
        const found = await look();
        if (found !== undefined) return found;
        if (this.#clock.now() >= until) this.#turns.giveUp();
      }
    } finally {
      waiting.end();
    }
  }
}
