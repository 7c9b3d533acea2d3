import type { Clock } from '@tiered/core';
import { Chain, type Link } from '@tiered/core/internal';
import { THREADS } from './thread-pool.js';

/**
 * The least milliseconds that a call takes on slow storage, and the further time per byte: 250 MB/s. Node's
 * four threads read faster storage as fast as the event loop can follow, and more threads do not make a
 * stream of bytes faster.
 */
const SLOW_MS = 2;
const SLOW_MS_A_BYTE = 1000 / 250e6;

/** Calls from one look to the next: each look lets the event loop turn twice. */
const CALLS_A_LOOK = 8;

/** Looks in a row that have to find slow calls, because a single one may be a hiccup. */
const LOOKS_TO_BELIEVE = 8;

/** Calls after which storage counts as fast again if none of them was slow. */
const CALLS_TO_FORGET = 256;

/** A call under way. */
interface Begun {
  readonly at: number;
  readonly bytes: number;
}

/** The threads beside Node's. */
interface Helpers {
  readonly count: () => number;
  /** They are too few. Called again and again as long as that is so. */
  readonly tooFew: () => void;
}

/**
 * Knows whether calls wait because storage is slow and threads are few.
 *
 * A call whose end is seen late may have ended long before, while the event loop computed. So what counts is
 * the oldest call that is still under way when the loop has delivered all calls that had ended. That one has
 * really taken so long. Where more calls are under way than there are threads, it may have waited for others
 * for as many times as long.
 */
export class Slowness {
  readonly #clock: Clock;
  readonly #helpers: Helpers;
  /** The oldest first. */
  readonly #underWay = new Chain<Begun>();
  #calls = 0;
  #isLooking = false;
  #inARow = 0;
  /** Calls until what was seen is forgotten; 0 if nothing is. */
  #left = 0;

  constructor(clock: Clock, helpers: Helpers) {
    this.#clock = clock;
    this.#helpers = helpers;
  }

  /** Whether storage is slow. */
  get isSeen(): boolean {
    return this.#left > 0;
  }

  /** Notes that a call begins that moves so many bytes. */
  began(bytes: number): Link<Begun> {
    const begun = this.#underWay.add({ at: this.#clock.now(), bytes });
    this.#calls += 1;
    const isDue = this.#calls % CALLS_A_LOOK === 0;
    if (isDue && !this.#isLooking && this.#underWay.size > THREADS) void this.#look();
    return begun;
  }

  /** Notes that it ended. `inHelper` says whether one of the helpers made it. */
  ended(begun: Link<Begun>, inHelper: boolean): void {
    this.#underWay.remove(begun);
    if (this.#left === 0) return;
    // That it was seen late only makes the helpers stay for longer.
    const isSlow = inHelper && this.#clock.now() - begun.value.at >= slowMs(begun.value);
    this.#left = isSlow ? CALLS_TO_FORGET : this.#left - 1;
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    await this.#clock.turn();
    const now = this.#clock.now();
    // What had ended by then is delivered by now.
    await this.#clock.turn();
    this.#isLooking = false;
    const oldest = this.#underWay.first?.value;
    if (oldest === undefined) return;
    const waiting = this.#underWay.size;
    const helpers = this.#helpers.count();
    const rounds = Math.max(1, waiting / (THREADS + helpers));
    const isSlow = now - oldest.at >= slowMs(oldest) * rounds;
    this.#inARow = isSlow ? this.#inARow + 1 : 0;
    if (!isSlow || (!this.isSeen && this.#inARow < LOOKS_TO_BELIEVE)) return;
    this.#left = CALLS_TO_FORGET;
    if (waiting > Math.max(THREADS, helpers)) this.#helpers.tooFew();
  }
}

function slowMs({ bytes }: Begun): number {
  return SLOW_MS + bytes * SLOW_MS_A_BYTE;
}
