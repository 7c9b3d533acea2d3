/** Ranges of a file that are in memory, in order and apart from each other. */
export class Ranges {
  readonly #starts: number[] = [];
  readonly #parts: Uint8Array[] = [];
  #bytes = 0;

  /** Bytes of all. */
  get bytes(): number {
    return this.#bytes;
  }

  get list(): readonly (readonly [start: number, bytes: Uint8Array])[] {
    return this.#parts.map((part, i) => [this.#starts[i] ?? 0, part]);
  }

  /** Copies what is there from a place on, up to the first byte that is not. Returns how many bytes. */
  fill(position: number, target: Uint8Array): number {
    let filled = 0;
    while (filled < target.byteLength) {
      const part = this.#from(this.#at(position + filled), position + filled);
      if (part === undefined) break;
      const bytes = part.subarray(0, target.byteLength - filled);
      target.set(bytes, filled);
      filled += bytes.byteLength;
    }
    return filled;
  }

  /** Adds a copy of what is not there yet. */
  add(position: number, bytes: Uint8Array): void {
    for (let done = 0; done < bytes.byteLength;) {
      const start = position + done;
      const before = this.#at(start);
      const there = this.#from(before, start);
      const next = this.#starts[before + 1] ?? Infinity;
      const length = there?.byteLength ?? Math.min(next - start, bytes.byteLength - done);
      if (there === undefined) {
        this.#starts.splice(before + 1, 0, start);
        this.#parts.splice(before + 1, 0, bytes.slice(done, done + length));
        this.#bytes += length;
      }
      done += length;
    }
  }

  /** The bytes of a range from a place on. Undefined if it ends before. */
  #from(i: number, position: number): Uint8Array | undefined {
    const part = this.#parts[i];
    const skipped = position - (this.#starts[i] ?? 0);
    return part === undefined || skipped >= part.byteLength ? undefined : part.subarray(skipped);
  }

  /** The last range that begins there or before; -1 if there is none. */
  #at(position: number): number {
    let [low, high] = [0, this.#starts.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#starts[middle] ?? 0) <= position) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
