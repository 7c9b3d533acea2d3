/**
 * The content of a worker's staging buffer, in order. It is filled in the order of access, and a sample
 * leaves when its consumer is done with it (section 5.1).
 */
export class StagingRing {
  readonly #capacity: number;
  #used = 0;
  #bytes = new Float64Array(1024);
  #leaves = new Float64Array(1024);
  #first = 0;
  #count = 0;

  /** @param capacity Bytes. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /**
   * Returns the time at which there is room for this many bytes. Forgets the samples that have left by then.
   * A sample larger than the buffer waits for an empty one.
   */
  roomFor(bytes: number): number {
    let at = 0;
    while (this.#used + bytes > this.#capacity && this.#count > 0) {
      at = this.#leaves[this.#first] ?? 0;
      this.#used -= this.#bytes[this.#first] ?? 0;
      this.#first = (this.#first + 1) & (this.#bytes.length - 1);
      this.#count -= 1;
    }
    return at;
  }

  /** Adds a sample that leaves at this time, which is later than for those before it. */
  push(bytes: number, leaves: number): void {
    if (this.#count === this.#bytes.length) this.#grow();
    const last = (this.#first + this.#count) & (this.#bytes.length - 1);
    this.#bytes[last] = bytes;
    this.#leaves[last] = leaves;
    this.#count += 1;
    this.#used += bytes;
  }

  #grow(): void {
    const grown = (old: Float64Array) => {
      const array = new Float64Array(old.length * 2);
      array.set(old.subarray(this.#first));
      array.set(old.subarray(0, this.#first), old.length - this.#first);
      return array;
    };
    [this.#bytes, this.#leaves] = [grown(this.#bytes), grown(this.#leaves)];
    this.#first = 0;
  }
}
