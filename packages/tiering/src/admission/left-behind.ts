import type { Clock } from '@tiered/core';
import type { MemoryBudget } from '../memory/memory-budget.js';

/** Dependencies of `LeftBehind`. */
export interface LeftBehindParts {
  readonly budget: MemoryBudget;
  readonly clock: Clock;
  /** Objects that are fetched at the same time. */
  readonly lanes: number;
  readonly closing: AbortSignal;
  /**
   * Begins to place an object; `outcome` never rejects. Returns undefined if no level takes the object any
   * more, `'behind'` if none has room yet.
   */
  readonly start: (id: number) => { readonly outcome: Promise<unknown> } | 'behind' | undefined;
}

/** Objects that can be skipped in a row before the event loop gets a turn. */
const AT_ONCE = 1000;
/** Milliseconds before another try at a tier that has the bytes but could not grant them. */
const AGAIN_MS = 100;

/**
 * Objects that were read and not placed because the tiers were behind. They are fetched in the background
 * once at most half of the memory is in use. New requests of readers come first, because they cost no extra
 * fetch. If one of these objects is read before its turn, it is placed for that reader, and leaves this list.
 */
export class LeftBehind {
  readonly #parts: LeftBehindParts;
  readonly #ids = new IdSet();
  readonly #lanes = new Set<Promise<void>>();
  #isWaiting = false;

  constructor(parts: LeftBehindParts) {
    this.#parts = parts;
  }

  /** The work in progress. It ends when the tiers are behind again, or nothing is left. */
  get underWay(): Promise<void>[] {
    return [...this.#lanes];
  }

  add(id: number): void {
    this.#ids.add(id);
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    const { clock, closing } = this.#parts;
    clock.sleep(AGAIN_MS, closing).then(
      () => {
        this.#isWaiting = false;
        this.goOn();
      },
      () => undefined,
    );
  }

  /** Forgets an object that is being placed, or that no level takes. */
  delete(id: number): void {
    this.#ids.delete(id);
  }

  /** Called when tiers may have caught up: something was written, or there is room again. */
  goOn(): void {
    while (this.#mayGoOn && this.#lanes.size < Math.min(this.#parts.lanes, this.#ids.size)) {
      const lane = this.#lane().finally(() => this.#lanes.delete(lane));
      this.#lanes.add(lane);
    }
  }

  get #mayGoOn(): boolean {
    const { budget, closing } = this.#parts;
    return !closing.aborted && budget.isMostlyFree && !budget.isStalled;
  }

  async #lane(): Promise<void> {
    // Lets a fill that was begun be counted before the next one begins.
    await Promise.resolve();
    for (let looked = 1; this.#mayGoOn; looked++) {
      const id = this.#ids.take();
      if (id === undefined) return;
      const begun = this.#parts.start(id);
      if (begun === 'behind') {
        this.add(id);
        return;
      }
      if (begun !== undefined) await begun.outcome;
      else if (looked % AT_ONCE === 0) await this.#parts.clock.turn();
    }
  }
}

/** A set of object numbers, one bit each: 2 MB for 14 million objects, where a `Set` takes hundreds. */
export class IdSet {
  #words = new Uint32Array(64);
  #size = 0;
  /** Where `take` looks first. */
  #cursor = 0;

  get size(): number {
    return this.#size;
  }

  has(id: number): boolean {
    return ((this.#words[id >>> 5] ?? 0) & (1 << (id & 31))) !== 0;
  }

  add(id: number): void {
    if (this.has(id)) return;
    const word = id >>> 5;
    if (word >= this.#words.length) {
      const longer = new Uint32Array(Math.max(word + 1, 2 * this.#words.length));
      longer.set(this.#words);
      this.#words = longer;
    }
    this.#words[word] = (this.#words[word] ?? 0) | (1 << (id & 31));
    this.#size += 1;
  }

  delete(id: number): void {
    if (!this.has(id)) return;
    const word = id >>> 5;
    this.#words[word] = (this.#words[word] ?? 0) & ~(1 << (id & 31));
    this.#size -= 1;
  }

  /** Removes and returns a number. Cycles through all of them. */
  take(): number | undefined {
    if (this.#size === 0) return undefined;
    for (;;) {
      const word = this.#words[this.#cursor] ?? 0;
      if (word !== 0) {
        const id = this.#cursor * 32 + 31 - Math.clz32(word & -word);
        this.delete(id);
        return id;
      }
      this.#cursor = (this.#cursor + 1) % this.#words.length;
    }
  }
}
