import type { Clock, Namespace } from '@tiered/core';
import pLimit from 'p-limit';

/** Copies that are checked at the same time in the background. */
const AT_A_TIME = 2;
/** Copies that programs wait for, and that are checked at the same time besides. */
const AWAITED_AT_A_TIME = 16;
/** Objects that are known to wait. Others are found by going through all objects. */
const MOST_WAITING = 10_000;
/** Objects that are gone through between two turns of the event loop. */
const AT_ONCE = 10_000;
/** Objects that are known to have only the beginning of a copy. */
const MOST_IN_PART = 100_000;

/** The parts that checking needs. */
export interface CheckingParts {
  readonly namespace: () => Namespace;
  /** The level of objects that are in the source alone. */
  readonly sourceLevel: number;
  /** Compares the copy of an object with its checksums. */
  readonly check: (id: number, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
}

/** A check under way. */
interface Check {
  readonly done: Promise<void>;
  /** Whether the object got another copy meanwhile. */
  isMoved: boolean;
}

/**
 * Sees to it that every copy is checked which an earlier daemon left: in the background, a few at a time, and
 * at once where a program waits.
 *
 * There may be many millions of them. So only some are remembered, and the others are found by going through
 * all objects, as often as one came that was not remembered. Takes the same memory for any number of objects.
 */
export class Checking {
  readonly #parts: CheckingParts;
  readonly #mostWaiting: number;
  readonly #waiting = new Set<number>();
  readonly #underWay = new Map<number, Check>();
  readonly #awaited = pLimit(AWAITED_AT_A_TIME);
  readonly #lanes = new Set<Promise<void>>();
  #busy = 0;
  /** Objects of which a tier holds the beginning. */
  readonly #inPart = new Set<number>();
  readonly #closing = new AbortController();
  /** Whether all objects are being gone through, how far, and whether that is to be done once more. */
  #isWalking = false;
  #at = 0;
  #isAnotherDue = false;

  /** @param mostWaiting Objects that are remembered. Default: 10,000. */
  constructor(parts: CheckingParts, mostWaiting = MOST_WAITING) {
    this.#parts = parts;
    this.#mostWaiting = mostWaiting;
  }

  /** Checks the copy of an object before long, if it has one that was not checked. */
  begin(id: number): void {
    if (this.#closing.signal.aborted || !this.#isUnchecked(id)) return;
    if (this.#waiting.has(id)) return;
    if (this.#waiting.size < this.#mostWaiting) this.#waiting.add(id);
    else if (!this.#isWalking) this.#isWalking = true;
    else if (id < this.#at) this.#isAnotherDue = true;
    if (this.#busy === AT_A_TIME) return;
    this.#busy += 1;
    const lane = this.#work().finally(() => this.#lanes.delete(lane));
    this.#lanes.add(lane);
  }

  /** Checks the copy of an object for somebody who waits for it, before all that nobody waits for. */
  async now(id: number): Promise<void> {
    const check = this.#underWay.get(id);
    if (check !== undefined) await check.done;
    else if (this.#isUnchecked(id)) await this.#check(id, this.#awaited);
  }

  /** An object has another copy, or none. */
  moved(id: number): void {
    this.#inPart.delete(id);
    const check = this.#underWay.get(id);
    if (check !== undefined) check.isMoved = true;
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#lanes.size + this.#underWay.size > 0)
      await Promise.all([...this.#lanes, ...Array.from(this.#underWay.values(), ({ done }) => done)]);
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.idle();
  }

  async #work(): Promise<void> {
    try {
      // Not in the midst of whatever told of the copy.
      await this.#parts.clock.turn();
      while (!this.#closing.signal.aborted) {
        const id = this.#oneThatWaits() ?? this.#oneOnTheWay();
        if (id !== undefined) await this.#check(id);
        else if (!this.#isWalking) return;
        await this.#parts.clock.turn();
      }
    } finally {
      this.#busy -= 1;
    }
  }

  #oneThatWaits(): number | undefined {
    for (const id of this.#waiting) {
      this.#waiting.delete(id);
      if (this.#isUnchecked(id)) return id;
    }
    return undefined;
  }

  /** One of the objects that come next; undefined if none of them is to be checked. */
  #oneOnTheWay(): number | undefined {
    if (!this.#isWalking) return undefined;
    const { count } = this.#parts.namespace();
    const until = Math.min(count, this.#at + AT_ONCE);
    while (this.#at < until) {
      const id = this.#at++;
      if (this.#isUnchecked(id)) return id;
    }
    if (this.#at < count) return undefined;
    this.#at = 0;
    this.#isWalking = this.#isAnotherDue;
    this.#isAnotherDue = false;
    return undefined;
  }

  /** Whether an object has a copy that is to be checked, and is not being checked. */
  #isUnchecked(id: number): boolean {
    const { sourceLevel } = this.#parts;
    const level = this.#parts.namespace().levelOf(id);
    if (level === sourceLevel || this.#parts.namespace().directLevelOf(id) === level) return false;
    return !this.#inPart.has(id) && !this.#underWay.has(id);
  }

  #check(id: number, when = (work: () => Promise<void>) => work()): Promise<void> {
    const { signal } = this.#closing;
    const done = when(async () => {
      if (!signal.aborted) await this.#parts.check(id, signal);
    }).finally(() => this.#checked(id));
    this.#underWay.set(id, { done, isMoved: false });
    return done;
  }

  #checked(id: number): void {
    const isMoved = this.#underWay.get(id)?.isMoved === true;
    this.#underWay.delete(id);
    if (this.#closing.signal.aborted || !this.#isUnchecked(id)) return;
    // Read, and still of no use to programs: a tier holds only the beginning of the object.
    if (!isMoved && this.#inPart.size < MOST_IN_PART) this.#inPart.add(id);
    else if (isMoved) this.begin(id);
  }
}
