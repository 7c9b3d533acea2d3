/**
 * Hedges that may be saved up. A source that stalls makes all reads late at once, and must not get as many
 * requests again.
 */
const SAVED_AT_MOST = 10;

/** The most hedges whose requests have not both ended. Requests that ignore their abort must not pile up. */
const ACTIVE_AT_MOST = 16;

/**
 * Hedges in a row that bring nothing before hedging is turned off. If half of them win, chance alone does
 * this once in 65,000.
 */
const LOST_AT_MOST = 16;

/** Milliseconds for which hedging is off at first. Doubles each time a hedge is tried again in vain. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** What became of the late reads. */
export interface HedgeCounts {
  /** Second requests that were made. */
  readonly hedges: number;
  /** Second requests that gave the answer. */
  readonly won: number;
  /**
   * Second requests that did not give the answer: the first request answered before, or they failed. The
   * caller ended the others, or they are under way.
   */
  readonly lost: number;
  /** Late reads that got no second request, because the budget had no room for it. */
  readonly overBudget: number;
  /** Late reads that got none because there were too many hedges at a time, or too many bytes. */
  readonly overMemory: number;
  /** Late reads that got none because hedging was off. */
  readonly whileOff: number;
}

/**
 * Says whether a late read may have a second request.
 *
 * - The budget: each read that ends adds its share of a hedge, and a hedge takes a whole one. So there are at
 *   most `budget` times as many as reads that ended.
 * - The memory: hedges are bounded in number and in bytes until both of their requests have ended.
 * - Whether it helps: where the source is slow as a whole, a second request waits as long as the first, and
 *   is a burden. After 16 hedges in a row that brought nothing, there are none for a second. Then they are
 *   tried one at a time. A hedge that wins turns hedging on again. One that does not win doubles the pause,
 *   up to a minute.
 */
export class Allowance {
  readonly #readsPerHedge: number;
  readonly #memory: number;
  readonly #now: () => number;
  readonly #counts = { hedges: 0, won: 0, lost: 0, overBudget: 0, overMemory: 0, whileOff: 0 };
  /** Reads that ended and were not spent on a hedge. */
  #saved = 0;
  #active = 0;
  #activeBytes = 0;
  #lostInARow = 0;
  #offUntil = 0;
  #pauseMs = FIRST_PAUSE_MS;

  /** @param now Milliseconds, as `Clock.now`. */
  constructor(budget: number, memory: number, now: () => number) {
    this.#readsPerHedge = 1 / budget;
    this.#memory = memory;
    this.#now = now;
  }

  get counts(): HedgeCounts {
    return { ...this.#counts };
  }

  /** Whether hedges are off, or tried one at a time, because the latest brought nothing. */
  get isOff(): boolean {
    return this.#lostInARow >= LOST_AT_MOST;
  }

  /** A read ended. */
  earn(): void {
    this.#saved = Math.min(this.#saved + 1, SAVED_AT_MOST * this.#readsPerHedge);
  }

  /**
   * Asks for a hedge of so many bytes, and returns whether it is allowed. If it is, call `won` or `lost`,
   * unless the caller ended the read, and `giveBack` in any case.
   */
  take(bytes: number): boolean {
    const refused = this.#refusal(bytes);
    if (refused !== undefined) {
      this.#counts[refused] += 1;
      return false;
    }
    this.#counts.hedges += 1;
    this.#saved -= this.#readsPerHedge;
    this.#active += 1;
    this.#activeBytes += bytes;
    return true;
  }

  /** Both requests of a hedged read have ended. */
  giveBack(bytes: number): void {
    this.#active -= 1;
    this.#activeBytes -= bytes;
  }

  won(): void {
    this.#counts.won += 1;
    this.#lostInARow = 0;
    this.#pauseMs = FIRST_PAUSE_MS;
  }

  lost(): void {
    this.#counts.lost += 1;
    this.#lostInARow += 1;
    const now = this.#now();
    // Hedges that were under way when the pause began do not make it longer.
    if (!this.isOff || now < this.#offUntil) return;
    this.#offUntil = now + this.#pauseMs;
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }

  #refusal(bytes: number): 'overBudget' | 'overMemory' | 'whileOff' | undefined {
    if (this.isOff && (this.#active > 0 || this.#now() < this.#offUntil)) return 'whileOff';
    if (this.#saved < this.#readsPerHedge) return 'overBudget';
    if (this.#active >= ACTIVE_AT_MOST || this.#activeBytes + bytes > this.#memory) return 'overMemory';
    return undefined;
  }
}
