/**
 * Hedges that may be saved up. A source that stalls makes all reads late at once, and must not get as many
 * requests again.
 */
const SAVED_AT_MOST = 10;

/** The most hedges with a request still in flight. Requests that ignore their abort must not pile up. */
const ACTIVE_AT_MOST = 16;

/**
 * Consecutive hedges without benefit before hedging is turned off. If half of all hedges win, chance alone
 * does this once in 65,000.
 */
const LOST_AT_MOST = 16;

/** Milliseconds for which hedging is off at first. Doubles with each unsuccessful probe. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** The outcomes of late reads. */
export interface HedgeCounts {
  /** Second requests made. */
  readonly hedges: number;
  /** Second requests that provided the answer. */
  readonly won: number;
  /**
   * Second requests that did not provide the answer, because the first request answered before, or they
   * failed. The remaining ones were aborted by the caller, or are in flight.
   */
  readonly lost: number;
  /** Late reads without a second request, because the budget was used up. */
  readonly overBudget: number;
  /** Late reads without a second request, because too many hedges or bytes were in flight. */
  readonly overMemory: number;
  /** Late reads without a second request, because hedging was off. */
  readonly whileOff: number;
}

/**
 * Decides whether a late read may have a second request.
 *
 * - The budget: each read that ends earns its share of a hedge, and a hedge spends a whole one. So there are
 *   at most `budget` hedges per read that ended.
 * - The memory: hedges are bounded in number and in bytes until both of their requests have ended.
 * - The benefit: if the source is slow as a whole, a second request waits as long as the first, and is a
 *   burden. After 16 hedges in a row that brought nothing, there are none for a second. They are then tried
 *   one at a time. A hedge that wins turns hedging on again. One that does not win doubles the pause, up to a
 *   minute.
 */
export class Allowance {
  readonly #readsPerHedge: number;
  readonly #memory: number;
  readonly #now: () => number;
  readonly #counts = { hedges: 0, won: 0, lost: 0, overBudget: 0, overMemory: 0, whileOff: 0 };
  /** Reads that ended, minus those spent on hedges. */
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

  /** Records that a read ended. */
  earn(): void {
    this.#saved = Math.min(this.#saved + 1, SAVED_AT_MOST * this.#readsPerHedge);
  }

  /**
   * Requests a hedge of so many bytes, and returns whether it is allowed. If it is, call `won` or `lost`,
   * unless the caller aborted the read, and `giveBack` in any case.
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

  /** Records that both requests of a hedged read have ended. */
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
    // Hedges that were in flight when the pause began do not prolong it.
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
