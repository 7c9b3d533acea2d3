import { LRUCache } from 'lru-cache';

/** Which objects of a level were read how recently, for policies that evict. */
export class Recency {
  /** Unbounded by itself: it holds what is on the tier, which its quota bounds. */
  readonly #ids = new LRUCache<number, number>({
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
    this.#ids.set(id, bytes);
  }

  forget(id: number): void {
    this.#ids.delete(id);
  }

  /** The object that was not read for longest, with its bytes; it is forgotten. */
  oldest(): { readonly id: number; readonly bytes: number } | undefined {
    for (const id of this.#ids.rkeys()) {
      const bytes = this.#ids.peek(id) ?? 0;
      this.#ids.delete(id);
      return { id, bytes };
    }
    return undefined;
  }
}
