import { LRUCache } from 'lru-cache';

interface Entry {
  readonly id: number;
  readonly bytes: number;
}

/** Which objects of a level were read how recently, for policies that evict. */
export class Recency {
  /** Unbounded by itself: it holds what is on the tier, which its quota bounds. */
  readonly #entries = new LRUCache<number, Entry>({
    maxSize: Number.MAX_SAFE_INTEGER,
    sizeCalculation: () => 1,
  });
  #largest = 0;

  /** Bytes of the largest object that was placed: the room to keep free for the next one. */
  get largest(): number {
    return this.#largest;
  }

  touch(id: number, bytes: number): void {
    this.#largest = Math.max(this.#largest, bytes);
    // Most are here already, with this size: to look one up is a touch too, and cheaper.
    if (this.#entries.get(id)?.bytes !== bytes) this.#entries.set(id, { id, bytes });
  }

  forget(id: number): void {
    this.#entries.delete(id);
  }

  /** The object that was not read for longest, with its bytes; it is forgotten. */
  oldest(): Entry | undefined {
    return this.#entries.pop();
  }
}
