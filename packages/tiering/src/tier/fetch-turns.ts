import { raceAbort, type Checksum } from '@tiered/core/internal';
import type { Clock } from '@tiered/core';
import type { HomeLocks } from '@tiered/core/driver';

/** Those who wait for a fetch of another process share this number. No object has it. */
const WAITING = 0;
/** Milliseconds between looks for what another process fetches: the first, and at most. */
const FIRST_LOOK_MS = 1;
const LAST_LOOK_MS = 16;
/** Milliseconds for which a fetch of another process is waited for. It may be stopped. */
const MOST_MS = 2000;
/** Milliseconds for which nobody is waited for, once a wait was in vain. */
const IMPATIENT_MS = 10_000;

/** The object that is to be fetched. */
interface Fetched {
  readonly key: string;
  readonly version: string;
}

/** What turns work with. */
export interface FetchTurnsParts {
  readonly locks: HomeLocks | undefined;
  readonly clock: Clock;
  readonly checksum: Checksum;
  readonly dataset: string;
  /** Whether the tier has other members now. */
  readonly isShared: () => boolean;
}

/**
 * Says which of the processes that share a tier fetches an object for it (F1).
 *
 * **Problem.** Processes of one node read the same objects at the same time, and the source should give each
 * once. Whoever fetches may be killed or stopped at any instant, and most objects are fetched by one process
 * alone: that must cost next to nothing.
 *
 * **Way.** A process that fetches has the object's number alone, from before it asks the source until its
 * copy is in the index, or will not be. The kernel keeps these locks, and ends them with the process. A
 * process that does not get the number looks now and then, in pauses that grow, whether the copy is there, or
 * the number is free. Meanwhile it shares one more number with all who wait. By that the others see that what
 * they gather is wanted, and write it at once.
 *
 * **Invariants.** Nobody waits for longer than two seconds. After a wait in vain this process waits for
 * nobody for a while, and fetches what it needs, as without locks. Two objects of one number wait for each
 * other, which costs time and nothing else. While the tier has one member there are no calls.
 */
export class FetchTurns {
  readonly #parts: FetchTurnsParts;
  #locks: HomeLocks | undefined;
  /** How many turns of this process have a number. The kernel does not count them. */
  readonly #mine = new Map<number, number>();
  #waiting = 0;
  #impatientUntil = 0;

  constructor(parts: FetchTurnsParts) {
    this.#parts = parts;
    this.#locks = parts.locks;
  }

  /**
   * Begins a fetch. Returns what ends it; the fetch of another process; or undefined if no turn is needed.
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

  /** Whether another process waits for what this one fetches. */
  get isWaitedFor(): boolean {
    return this.isShared && this.#tried((locks) => locks.isTaken(WAITING)) === true;
  }

  /** Shows to the others that something of theirs is waited for. Returns what ends that. */
  wait(): FetchTurn {
    this.#waiting += 1;
    if (this.#waiting === 1) this.#tried((locks) => locks.share(WAITING));
    return {
      end: () => {
        this.#waiting -= 1;
        if (this.#waiting === 0) this.#release(WAITING);
      },
    };
  }

  /** A wait was in vain. */
  giveUp(): void {
    this.#impatientUntil = this.#parts.clock.now() + IMPATIENT_MS;
  }

  /** Also once there are no locks any more: what is still locked would keep the others waiting. */
  #release(number: number): void {
    try {
      this.#parts.locks?.release(number);
    } catch {
      this.#locks = undefined;
    }
  }

  /** Without locks all goes on as where there are none. */
  #tried<T>(call: (locks: HomeLocks) => T): T | undefined {
    try {
      return this.#locks && call(this.#locks);
    } catch {
      this.#locks = undefined;
      return undefined;
    }
  }
}

/** Something that goes on until it is ended. Idempotent. */
export interface FetchTurn {
  readonly end: () => void;
}

/** Another process fetches an object at this moment. */
export class OtherFetch {
  readonly #turns: FetchTurns;
  readonly #clock: Clock;

  constructor(turns: FetchTurns, clock: Clock) {
    this.#turns = turns;
    this.#clock = clock;
  }

  /**
   * Looks again and again, until there is something to go on with. After two seconds fetches of others are
   * not waited for any more.
   * @param look Resolves to undefined while the other process still fetches. Obeys the signal itself: what it
   * resolves to is returned, whatever has aborted since.
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
