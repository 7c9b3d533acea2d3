import { LRUCache } from 'lru-cache';

interface Entry {
  readonly id: number;
  readonly bytes: number;
  /** The number of touches up to the last one of this object. */
  readAt: number;
}

/** How recently the objects of a level were read, for policies that evict. */
export class Recency {
  /** Not bounded itself. It holds the objects on the tier, which the quota bounds. */
  readonly #entries = new LRUCache<number, Entry>({
    maxSize: Number.MAX_SAFE_INTEGER,
    sizeCalculation: () => 1,
  });
  #largest = 0;
  #touches = 0;

  /** Bytes of the largest object so far: the room to keep free for the next one. */
  get largest(): number {
    return this.#largest;
  }

  touch(id: number, bytes: number): void {
    this.#largest = Math.max(this.#largest, bytes);
    // Most objects are already here with this size. A lookup counts as a touch too, and is cheaper.
    const known = this.#entries.get(id);
    this.#touches += 1;
    if (known?.bytes === bytes) known.readAt = this.#touches;
    else this.#entries.set(id, { id, bytes, readAt: this.#touches });
  }

  /**
   * When an object was last read, if that is among the latest reads: half as many as there are objects. A
   * larger number is later.
   */
  recent(id: number): number | undefined {
    const readAt = this.#entries.peek(id)?.readAt ?? 0;
    return 2 * (this.#touches - readAt) < this.#entries.size ? readAt : undefined;
  }

  forget(id: number): void {
    this.#entries.delete(id);
  }

  /** The objects, least recently read first. Nothing may change during the iteration. */
  oldestFirst(): Iterable<number> {
    return this.#entries.rkeys();
  }

  /** Removes the least recently read object, and returns it with its bytes. */
  oldest(): Pick<Entry, 'id' | 'bytes'> | undefined {
    const oldest = this.#entries.pop();
    return oldest && { id: oldest.id, bytes: oldest.bytes };
  }
}
