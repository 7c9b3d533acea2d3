import { isTieredError, systemClock, type Clock, type Hierarchy, type Namespace } from '@tiered/core';
import pLimit from 'p-limit';
import { Checking } from './checking.js';
import { Declined } from './declined.js';

/** Objects that are placed at the same time: the placement limits what the source is asked. */
const AT_A_TIME = 64;
/** Objects that wait to be placed. Further ones are placed when they are opened another time. */
const MOST = 100_000;
/** Bytes of a copy that are checked by one read. */
const CHECKED_AT_ONCE = 2 ** 20;

/**
 * Places objects that programs read from the source, and checks copies of an earlier daemon before programs
 * read them. An object that no tier took is not asked for again before there may be room: that costs the
 * daemon 25 microseconds for each open, of which programs make many when the tiers are full.
 */
export class Requests {
  readonly #hierarchy: Hierarchy;
  readonly #sourceLevel: number;
  readonly #placing = pLimit(AT_A_TIME);
  /** Requests, by object. */
  readonly #asked = new Map<number, Promise<void>>();
  /** Placements for programs that wait. */
  readonly #awaited = new Set<Promise<void>>();
  readonly #declined: Declined;
  readonly #checking: Checking;
  readonly #closing = new AbortController();

  constructor(hierarchy: Hierarchy, clock: Clock = systemClock) {
    this.#hierarchy = hierarchy;
    this.#sourceLevel = hierarchy.stats().tiers.length;
    this.#declined = new Declined(clock);
    this.#checking = new Checking({
      namespace: () => this.#namespace,
      sourceLevel: this.#sourceLevel,
      check: (id, signal) => this.#check(id, signal),
      clock,
    });
  }

  /** Places an object, if a tier takes it. */
  place(id: number): void {
    if (this.#declined.has(id) || this.#asked.has(id)) return;
    if (this.#asked.size >= MOST || this.#closing.signal.aborted) return;
    this.#asked.set(
      id,
      this.#placing(() => this.#place(id)).finally(() => this.#asked.delete(id)),
    );
  }

  /**
   * Reads a copy of an earlier daemon before long, which compares it with its checksums. A copy that programs
   * cannot use even then, because it holds only the beginning of its object, is read once.
   */
  check(id: number): void {
    this.#checking.begin(id);
  }

  /**
   * Places an object, or checks its copy, for programs that wait for it: before all that nobody waits for.
   * Resolves when that is done, whether or not there is a copy for them now.
   */
  async ready(id: number): Promise<void> {
    if (this.#namespace.levelOf(id) < this.#sourceLevel) return this.#checking.now(id);
    const placed = this.#place(id).finally(() => this.#awaited.delete(placed));
    this.#awaited.add(placed);
    return placed;
  }

  /** An object has another copy, or none. */
  moved(id: number): void {
    this.#checking.moved(id);
    if (this.#namespace.levelOf(id) === this.#sourceLevel) this.#declined.roomComes();
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    do {
      await Promise.all([...this.#asked.values(), ...this.#awaited]);
      await this.#checking.idle();
    } while (this.#asked.size + this.#awaited.size > 0);
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#checking.close();
    await this.idle();
  }

  get #namespace(): Namespace {
    return this.#hierarchy.namespace;
  }

  async #place(id: number): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) return;
    const asked = this.#declined.period;
    try {
      const level = await this.#hierarchy.place(this.#namespace.keyOf(id), { signal });
      if (level === this.#sourceLevel) this.#declined.add(id, asked, this.#namespace.count);
    } catch (error) {
      this.#ignore(error);
    }
  }

  async #check(id: number, signal: AbortSignal): Promise<void> {
    try {
      const handle = await this.#hierarchy.handle(this.#namespace.keyOf(id), { signal });
      const target = new Uint8Array(Math.min(CHECKED_AT_ONCE, handle.size));
      for (let offset = 0; offset < handle.size; offset += target.byteLength)
        await handle.readInto(target, { offset, signal });
    } catch (error) {
      if (!signal.aborted) this.#ignore(error);
    }
  }

  /**
   * Failures of the source or a tier are events of the hierarchy, and programs read the
   * source.
   */
  #ignore(error: unknown): void {
    if (!this.#closing.signal.aborted && !isTieredError(error)) throw error;
  }
}
