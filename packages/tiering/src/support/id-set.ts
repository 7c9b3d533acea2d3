/** A set of objects' numbers, a bit each: 2 MB for 14 million objects, where a `Set` takes hundreds. */
export class IdSet {
  #words = new Uint32Array(64);
  #size = 0;
  /** Where `take` looks first. */
  #cursor = 0;

  get size(): number {
    return this.#size;
  }

  has(id: number): boolean {
    return ((this.#words[id >>> 5] ?? 0) & (1 << (id & 31))) !== 0;
  }

  add(id: number): void {
    if (this.has(id)) return;
    const word = id >>> 5;
    if (word >= this.#words.length) {
      const longer = new Uint32Array(Math.max(word + 1, 2 * this.#words.length));
      longer.set(this.#words);
      this.#words = longer;
    }
    this.#words[word] = (this.#words[word] ?? 0) | (1 << (id & 31));
    this.#size += 1;
  }

  delete(id: number): void {
    if (!this.has(id)) return;
    const word = id >>> 5;
    this.#words[word] = (this.#words[word] ?? 0) & ~(1 << (id & 31));
    this.#size -= 1;
  }

  /** Takes a number out. Goes round through all of them. */
  take(): number | undefined {
    if (this.#size === 0) return undefined;
    for (;;) {
      const word = this.#words[this.#cursor] ?? 0;
      if (word !== 0) {
        const id = this.#cursor * 32 + 31 - Math.clz32(word & -word);
        this.delete(id);
        return id;
      }
      this.#cursor = (this.#cursor + 1) % this.#words.length;
    }
  }
}
