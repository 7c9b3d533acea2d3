/** Most bytes that are sent at once. */
const MOST_BYTES = 256 * 1024;

/**
 * Small entries of a batch, packed to be sent together. To send costs about as much for one small entry as
 * for all that fit, and so does the memory if it is made anew each time.
 */
export class PackedEntries {
  readonly #room: number;
  #memory: Buffer | undefined;
  #filled = 0;

  /** @param all Bytes of all entries, as far as that is known: no more memory is taken. */
  constructor(all = Infinity) {
    this.#room = Math.min(all, MOST_BYTES);
  }

  /** Bytes that are packed. */
  get bytes(): number {
    return this.#filled;
  }

  /** Whether so many bytes fit, beside those that are packed. */
  hasRoomFor(bytes: number): boolean {
    return this.#filled + bytes <= this.#room;
  }

  /** Packs bytes, for which there must be room. */
  add(bytes: Uint8Array): void {
    this.#memory ??= Buffer.allocUnsafeSlow(this.#room);
    this.#memory.set(bytes, this.#filled);
    this.#filled += bytes.byteLength;
  }

  /** Takes what is packed. The bytes are valid until more is packed. */
  take(): Uint8Array {
    const packed = this.#memory?.subarray(0, this.#filled) ?? new Uint8Array();
    this.#filled = 0;
    return packed;
  }
}
