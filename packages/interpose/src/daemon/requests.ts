import { isTieredError, type Hierarchy, type Namespace } from '@tiered/core';
import pLimit, { type LimitFunction } from 'p-limit';

/** Objects that are placed at the same time: the placement limits what the source is asked. */
const AT_A_TIME = 64;
/** Objects that wait to be placed. What comes on top is placed when it is opened another time. */
const MOST = 100_000;
/** Bytes of a copy that are checked by one read. */
const CHECKED_AT_ONCE = 2 ** 20;

/**
 * Places what programs had to read from the source, and checks copies of an earlier daemon before programs
 * read them.
 */
export class Requests {
  readonly #hierarchy: Hierarchy;
  readonly #sourceLevel: number;
  readonly #placing = pLimit(AT_A_TIME);
  readonly #checking = pLimit(2);
  /** What is to be placed, and what is to be checked, by object. */
  readonly #asked = new Map<number, Promise<void>>();
  readonly #unchecked = new Map<number, Promise<void>>();
  /** Objects of which a tier holds the beginning. */
  readonly #inPart = new Set<number>();
  readonly #closing = new AbortController();

  constructor(hierarchy: Hierarchy) {
    this.#hierarchy = hierarchy;
    this.#sourceLevel = hierarchy.stats().tiers.length;
  }

  /** Places an object, if a tier takes it. */
  place(id: number): void {
    if (this.#asked.size >= MOST) return;
    this.#once(this.#asked, this.#placing, id, async (signal) => {
      await this.#hierarchy.place(this.#namespace.keyOf(id), { signal });
    });
  }

  /**
   * Reads a copy of an earlier daemon, which compares it with its checksums. A copy that programs cannot use
   * even then, because it holds only the beginning of its object, is read once.
   */
  check(id: number): void {
    if (this.#inPart.has(id)) return;
    this.#once(this.#unchecked, this.#checking, id, async (signal) => {
      await this.#read(id, signal);
      const isUsable = this.#namespace.directLevelOf(id) === this.#namespace.levelOf(id);
      if (!isUsable && this.#inPart.size < MOST) this.#inPart.add(id);
    });
  }

  /**
   * Places an object, or checks its copy, for programs that wait for it. Resolves when that is done, whether
   * or not there is a copy for them now.
   */
  async ready(id: number): Promise<void> {
    const isAtSource = this.#namespace.levelOf(id) === this.#sourceLevel;
    if (isAtSource) this.place(id);
    else this.check(id);
    await (isAtSource ? this.#asked : this.#unchecked).get(id);
  }

  /** An object has another copy, or none. */
  moved(id: number): void {
    this.#inPart.delete(id);
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#asked.size + this.#unchecked.size > 0)
      await Promise.all([...this.#asked.values(), ...this.#unchecked.values()]);
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.idle();
  }

  /** Does something for an object, unless that is to be done already. */
  #once(
    under: Map<number, Promise<void>>,
    limit: LimitFunction,
    id: number,
    work: (signal: AbortSignal) => Promise<void>,
  ): void {
    const { signal } = this.#closing;
    if (under.has(id) || signal.aborted) return;
    const done = limit(async () => {
      if (!signal.aborted) await work(signal);
    })
      .catch((error: unknown) => this.#ignore(error))
      .finally(() => under.delete(id));
    under.set(id, done);
  }

  get #namespace(): Namespace {
    return this.#hierarchy.namespace;
  }

  async #read(id: number, signal: AbortSignal): Promise<void> {
    const handle = await this.#hierarchy.handle(this.#namespace.keyOf(id), { signal });
    const target = new Uint8Array(Math.min(CHECKED_AT_ONCE, handle.size));
    for (let offset = 0; offset < handle.size; offset += target.byteLength)
      await handle.readInto(target, { offset, signal });
  }

  /**
   * What goes wrong with the source or a tier is said by events of the hierarchy, and programs read the
   * source.
   */
  #ignore(error: unknown): void {
    if (!this.#closing.signal.aborted && !isTieredError(error)) throw error;
  }
}
