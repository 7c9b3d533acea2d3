/** Most bytes that are sent at once. */
const MOST_BYTES = 256 * 1024;

/**
 * Small entries of a batch, packed to be sent together. Sending one small entry costs about as much as
 * sending all that fit. So does memory that is allocated anew each time.
 */
export class PackedEntries {
  readonly #room: number;
  #memory: Buffer | undefined;
  #filled = 0;

  /** @param all Bytes of all entries, if known: no more memory is allocated. */
  constructor(all = Infinity) {
    this.#room = Math.min(all, MOST_BYTES);
  }

  /** Bytes packed so far. */
  get bytes(): number {
    return this.#filled;
  }

  /** Whether this many more bytes fit. */
  hasRoomFor(bytes: number): boolean {
    return this.#filled + bytes <= this.#room;
  }

  /** Packs bytes. They must fit. */
  add(bytes: Uint8Array): void {
    this.#memory ??= Buffer.allocUnsafeSlow(this.#room);
    this.#memory.set(bytes, this.#filled);
    this.#filled += bytes.byteLength;
  }

  /** Takes the packed bytes. They are valid until more are packed. */
  take(): Uint8Array {
    const packed = this.#memory?.subarray(0, this.#filled) ?? new Uint8Array();
    this.#filled = 0;
    return packed;
  }
}
