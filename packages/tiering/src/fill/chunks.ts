const MISSING = 0;
const ARRIVING = 1;
const WRITTEN = 2;

/** The chunks of a copy in flight: their states (missing, arriving or written) and their sums. */
export class Chunks {
  readonly #bytes: number;
  readonly #chunkBytes: number;
  readonly #state: Uint8Array;
  readonly #sums: bigint[];
  #written = 0;
  #next = 0;

  /**
   * @param bytes Bytes of the copy.
   * @param chunkBytes Bytes of a chunk; the last one may be shorter.
   */
  constructor(bytes: number, chunkBytes: number) {
    this.#bytes = bytes;
    this.#chunkBytes = chunkBytes;
    const count = Math.ceil(bytes / chunkBytes);
    this.#state = new Uint8Array(count);
    this.#sums = new Array<bigint>(count).fill(0n);
  }

  get count(): number {
    return this.#state.length;
  }

  /** XXH64 of each chunk. Complete once all chunks have arrived. */
  get sums(): bigint[] {
    return this.#sums.slice();
  }

  lengthOf(chunk: number): number {
    const start = chunk * this.#chunkBytes;
    return Math.min(this.#bytes, start + this.#chunkBytes) - start;
  }

  /** Whether a chunk was not requested yet. */
  isMissing(chunk: number): boolean {
    return this.#state[chunk] === MISSING;
  }

  isWritten(chunk: number): boolean {
    return this.#state[chunk] === WRITTEN;
  }

  get areWritten(): boolean {
    return this.#written === this.count;
  }

  /** Bytes of the written chunks. */
  get writtenBytes(): number {
    let bytes = 0;
    for (let chunk = 0; chunk < this.count; chunk++) if (this.isWritten(chunk)) bytes += this.lengthOf(chunk);
    return bytes;
  }

  /** Whether any chunk of a range was not requested yet. */
  missesAny(offset: number, length: number): boolean {
    const from = Math.floor(offset / this.#chunkBytes);
    const until = Math.ceil((offset + length) / this.#chunkBytes);
    return this.#state.subarray(from, until).includes(MISSING);
  }

  /** Records that a reader read up to this byte. Most readers continue from there. */
  goOnFrom(offset: number): void {
    this.#next = Math.ceil(offset / this.#chunkBytes);
  }

  /**
   * The next chunk that was not requested yet: from the last reader's position onwards, then from the
   * beginning.
   */
  get missing(): number | undefined {
    const onwards = this.#state.indexOf(MISSING, this.#next);
    const chunk = onwards === -1 ? this.#state.indexOf(MISSING) : onwards;
    return chunk === -1 ? undefined : chunk;
  }

  asked(chunk: number): void {
    this.#state[chunk] = ARRIVING;
  }

  came(chunk: number, sum: bigint): void {
    this.#sums[chunk] = sum;
  }

  wrote(chunk: number): void {
    this.#state[chunk] = WRITTEN;
    this.#written += 1;
  }
}
