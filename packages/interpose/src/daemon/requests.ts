import { isTieredError, type Hierarchy, type Namespace } from '@tiered/core';
import pLimit from 'p-limit';

/** Objects that are placed at the same time: the placement limits what the source is asked. */
const AT_A_TIME = 64;
/** Objects that wait to be placed. What comes on top is placed when it is opened another time. */
const MOST = 100_000;
/** Bytes of a copy that are checked by one read. */
const CHECKED_AT_ONCE = 2 ** 20;

/** Places what programs had to read from the source, and checks copies of an earlier daemon before programs read them. */
export class Requests {
  readonly #hierarchy: Hierarchy;
  readonly #placing = pLimit(AT_A_TIME);
  readonly #checking = pLimit(2);
  readonly #asked = new Set<number>();
  readonly #unchecked = new Set<number>();
  readonly #closing = new AbortController();

  constructor(hierarchy: Hierarchy) {
    this.#hierarchy = hierarchy;
  }

  /** Places an object, if a tier takes it. */
  place(id: number): void {
    if (this.#asked.has(id) || this.#asked.size >= MOST || this.#closing.signal.aborted) return;
    this.#asked.add(id);
    void this.#placing(async () => {
      if (!this.#closing.signal.aborted)
        await this.#hierarchy.place(this.#namespace.keyOf(id), { signal: this.#closing.signal });
    })
      .catch((error: unknown) => this.#ignore(error))
      .finally(() => this.#asked.delete(id));
  }

  /** Reads a copy of an earlier daemon, which compares it with its checksums. */
  check(id: number): void {
    if (this.#unchecked.has(id) || this.#closing.signal.aborted) return;
    this.#unchecked.add(id);
    void this.#checking(async () => {
      if (!this.#closing.signal.aborted) await this.#read(id);
    })
      .catch((error: unknown) => this.#ignore(error))
      .finally(() => this.#unchecked.delete(id));
  }

  /** Objects that are to be placed, or checked. */
  get waiting(): number {
    return this.#asked.size + this.#unchecked.size;
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const limit of [this.#placing, this.#checking])
      while (limit.activeCount + limit.pendingCount > 0) await limit(() => undefined);
  }

  get #namespace(): Namespace {
    return this.#hierarchy.namespace;
  }

  async #read(id: number): Promise<void> {
    const { signal } = this.#closing;
    const handle = await this.#hierarchy.handle(this.#namespace.keyOf(id), { signal });
    const target = new Uint8Array(Math.min(CHECKED_AT_ONCE, handle.size));
    for (let offset = 0; offset < handle.size; offset += target.byteLength)
      await handle.readInto(target, { offset, signal });
  }

  /** What goes wrong with the source or a tier is said by events of the hierarchy, and programs read the source. */
  #ignore(error: unknown): void {
    if (!this.#closing.signal.aborted && !isTieredError(error)) throw error;
  }
}
