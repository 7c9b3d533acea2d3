import { LRUCache } from 'lru-cache';

interface Entry {
  readonly id: number;
  readonly bytes: number;
  /** How many reads there were before the last one of it. */
  readAt: number;
}

/** Which objects of a level were read how recently, for policies that evict. */
export class Recency {
  /** Unbounded by itself: it holds what is on the tier, which its quota bounds. */
  readonly #entries = new LRUCache<number, Entry>({
    maxSize: Number.MAX_SAFE_INTEGER,
    sizeCalculation: () => 1,
  });
  #largest = 0;
  #touches = 0;

  /** Bytes of the largest object that was placed: the room to keep free for the next one. */
  get largest(): number {
    return this.#largest;
  }

  touch(id: number, bytes: number): void {
    this.#largest = Math.max(this.#largest, bytes);
    // Most are here already, with this size: to look one up is a touch too, and cheaper.
    const known = this.#entries.get(id);
    this.#touches += 1;
    if (known?.bytes === bytes) known.readAt = this.#touches;
    else this.#entries.set(id, { id, bytes, readAt: this.#touches });
  }

  /** When an object was read, if it was one of the last reads: as many as half of the objects. Later ones are larger numbers. */
  recent(id: number): number | undefined {
    const readAt = this.#entries.peek(id)?.readAt ?? 0;
    return 2 * (this.#touches - readAt) < this.#entries.size ? readAt : undefined;
  }

  forget(id: number): void {
    this.#entries.delete(id);
  }

  /** The object that was not read for longest, with its bytes; it is forgotten. */
  oldest(): Pick<Entry, 'id' | 'bytes'> | undefined {
    const oldest = this.#entries.pop();
    return oldest && { id: oldest.id, bytes: oldest.bytes };
  }
}
