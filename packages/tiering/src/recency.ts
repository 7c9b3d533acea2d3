/** The slot that holds no object: the ring of all others begins and ends here. */
const END = 0;
const FIRST_SLOTS = 64;

/**
 * Which objects of a level were read how recently, for policies that evict. Touched at every read, so it is a linked list in
 * typed arrays: an object on the level has a slot, with the slots of those read just before and just after it. 20 bytes a slot,
 * and 4 for every id up to the largest.
 */
export class Recency {
  /** The slot of each id, `END` for those that are not here. */
  #slots = new Uint32Array(FIRST_SLOTS);
  #ids = new Uint32Array(FIRST_SLOTS);
  #bytes = new Float64Array(FIRST_SLOTS);
  #older = new Uint32Array(FIRST_SLOTS);
  #newer = new Uint32Array(FIRST_SLOTS);
  /** Slots that were ever used, `END` included; and the first of those that are free again, linked by `#newer`. */
  #used = 1;
  #free = END;
  #largest = 0;

  /** Bytes of the largest object that was placed: the room to keep free for the next one. */
  get largest(): number {
    return this.#largest;
  }

  touch(id: number, bytes: number): void {
    this.#largest = Math.max(this.#largest, bytes);
    if (id >= this.#slots.length) this.#slots = grown(this.#slots, id + 1);
    let slot = this.#slots[id] ?? END;
    if (slot === END) {
      slot = this.#newSlot();
      this.#slots[id] = slot;
      this.#ids[slot] = id;
    } else this.#unlink(slot);
    this.#bytes[slot] = bytes;
    const newest = this.#older[END] ?? END;
    this.#link(newest, slot);
    this.#link(slot, END);
  }

  forget(id: number): void {
    const slot = this.#slots[id] ?? END;
    if (slot !== END) this.#remove(id, slot);
  }

  /** The object that was not read for longest, with its bytes; it is forgotten. */
  oldest(): { readonly id: number; readonly bytes: number } | undefined {
    const slot = this.#newer[END] ?? END;
    if (slot === END) return undefined;
    const id = this.#ids[slot] ?? 0;
    const bytes = this.#bytes[slot] ?? 0;
    this.#remove(id, slot);
    return { id, bytes };
  }

  #link(older: number, newer: number): void {
    this.#newer[older] = newer;
    this.#older[newer] = older;
  }

  #unlink(slot: number): void {
    this.#link(this.#older[slot] ?? END, this.#newer[slot] ?? END);
  }

  #remove(id: number, slot: number): void {
    this.#slots[id] = END;
    this.#unlink(slot);
    this.#newer[slot] = this.#free;
    this.#free = slot;
  }

  #newSlot(): number {
    const slot = this.#free;
    if (slot !== END) {
      this.#free = this.#newer[slot] ?? END;
      return slot;
    }
    if (this.#used === this.#ids.length) this.#grow();
    return this.#used++;
  }

  #grow(): void {
    const slots = this.#used + 1;
    this.#ids = grown(this.#ids, slots);
    this.#older = grown(this.#older, slots);
    this.#newer = grown(this.#newer, slots);
    const bytes = this.#bytes;
    this.#bytes = new Float64Array(this.#ids.length);
    this.#bytes.set(bytes);
  }
}

/** A copy with room for so many at least, and twice as many as before, so that growing costs little in sum. */
function grown(array: Uint32Array, least: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(Math.max(least, 2 * array.length));
  larger.set(array);
  return larger;
}
