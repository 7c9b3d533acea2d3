import { isTieredError, type Hierarchy } from '@tiered/core';
import { placeInOrder } from '@tiered/tiering';

/**
 * Places objects that no program is seen to open: in the order in which the source lists them, as long as
 * there is room for them.
 */
export class Filling {
  readonly #hierarchy: Hierarchy;
  readonly #closing = new AbortController();
  /** Objects that have had their turn, or are about to. */
  #taken = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(hierarchy: Hierarchy) {
    this.#hierarchy = hierarchy;
  }

  /** Begins with the objects that came since the last time, after those that it was called for before. */
  begin(): void {
    const [from, until] = [this.#taken, this.#hierarchy.namespace.count];
    this.#taken = until;
    this.#last = this.#last.then(() => this.#place(from, until));
  }

  /** Resolves when all is placed that there is room for. */
  idle(): Promise<void> {
    return this.#last;
  }

  /** Begins no more objects. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#last;
  }

  async #place(from: number, until: number): Promise<void> {
    const { namespace } = this.#hierarchy;
    const { signal } = this.#closing;
    function* keys() {
      for (let id = from; id < until; id++) yield namespace.keyOf(id);
    }
    try {
      await placeInOrder(this.#hierarchy, keys(), { signal });
    } catch (error) {
      // What goes wrong with the source or a tier is said by events of the hierarchy.
      if (!signal.aborted && !isTieredError(error)) throw error;
    }
  }
}
