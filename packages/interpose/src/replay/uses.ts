import TinyQueue from 'tinyqueue';

/** Entries of the queue that mean nothing any more, beside as many as there are objects. */
const SPARE = 1024;

/** When an object is opened again after the cursor, and its last open before that. */
export interface Use {
  readonly id: number;
  readonly next: number;
  /** -1 if there was none. */
  readonly since: number;
}

/**
 * The objects that are on the tiers, or on their way there, by when they are opened again.
 *
 * Costs some 200 bytes for each of them: what was noted of an object before stays in the queue, until there
 * is more of that than there are objects.
 */
export class Uses {
  readonly #latest = new Map<number, Use>();
  /** Those that are opened last come first. Entries that are not the latest of their object mean nothing. */
  #queue = queueOf([]);
  /** Objects that were chosen to go, and have not gone. They are not in the queue. */
  readonly #chosen = new Map<number, Use>();

  get size(): number {
    return this.#latest.size;
  }

  /** Entries of the queue. */
  get queued(): number {
    return this.#queue.length;
  }

  has(id: number): boolean {
    return this.#latest.has(id) || this.#chosen.has(id);
  }

  note(use: Use): void {
    this.#latest.set(use.id, use);
    this.#chosen.delete(use.id);
    this.#queue.push(use);
    if (this.#queue.length > 2 * this.#latest.size + SPARE) this.#queue = queueOf([...this.#latest.values()]);
  }

  /** The object is not there any more. False if it was not. */
  delete(id: number): boolean {
    return this.#chosen.delete(id) || this.#latest.delete(id);
  }

  /**
   * Chooses the object that is opened last, to go.
   * @param rank 0 for those that may go, 1 for those that may go if there are no others, and so on; undefined
   * for those that must not.
   */
  choose(rank: (use: Use) => number | undefined): Use | undefined {
    const others: Use[] = [];
    let best: { readonly use: Use; readonly rank: number } | undefined;
    while (best?.rank !== 0) {
      const use = this.#queue.pop();
      if (use === undefined) break;
      if (this.#latest.get(use.id) !== use) continue;
      others.push(use);
      const ranked = rank(use);
      if (ranked !== undefined && ranked < (best?.rank ?? Infinity)) best = { use, rank: ranked };
    }
    for (const use of others) if (use !== best?.use) this.#queue.push(use);
    if (best === undefined) return undefined;
    this.#latest.delete(best.use.id);
    this.#chosen.set(best.use.id, best.use);
    return best.use;
  }

  isChosen(use: Use): boolean {
    return this.#chosen.get(use.id) === use;
  }

  /**
   * An object that was chosen goes now. False if it has gone by itself, or is opened earlier than was
   * thought.
   */
  release(use: Use): boolean {
    return this.isChosen(use) && this.#chosen.delete(use.id);
  }

  /** An object that was chosen stays, if it is still there. */
  keep(use: Use): void {
    if (this.isChosen(use)) this.note(use);
  }
}

/** Made in time that is linear in the entries. */
function queueOf(uses: Use[]): TinyQueue<Use> {
  return new TinyQueue(uses, (a, b) => b.next - a.next);
}
