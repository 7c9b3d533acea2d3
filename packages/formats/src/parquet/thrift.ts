/** Structs of Parquet nest less than ten deep. */
const DEEPEST = 32;

const [STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, STRUCT] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12,
];

/**
 * Finds the end of a struct in Thrift's compact protocol. hyparquet parses the struct; but it believes
 * whatever length a list claims, and however many bytes a number has, so this looks at them first.
 * @throws Error if the struct is cut off, claims more than there is, or nests absurdly.
 */
export function endOfStruct(bytes: Uint8Array, start: number): number {
  return new Walk(bytes, start).struct(0);
}

/** Goes over bytes, and keeps nothing of them but the place. */
export class Walk {
  readonly #bytes: Uint8Array;
  at: number;
  /** Bytes of the longest text or binary value. */
  longest = 0;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  /** A number of up to 32 bits, 7 of them in a byte. */
  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new Error('a number is too long');
  }

  /** Skips a number of up to 64 bits. */
  skipVarint(): void {
    for (let i = 0; i < 10; i++) if (this.#byte() < 0x80) return;
    throw new Error('a number is too long');
  }

  struct(depth: number): number {
    if (depth > DEEPEST) throw new Error('structs nest too deep');
    for (;;) {
      const field = this.#byte();
      const type = field & 0x0f;
      if (type === STOP) return this.at;
      if (field >> 4 === 0) this.skipVarint();
      if (type !== TRUE && type !== FALSE) this.#element(type, depth);
    }
  }

  #element(type: number, depth: number): void {
    if (type === TRUE || type === FALSE || type === BYTE) this.#skip(1);
    else if (type === I16 || type === I32 || type === I64) this.skipVarint();
    else if (type === DOUBLE) this.#skip(8);
    else if (type === BINARY) this.#binary();
    else if (type === LIST) this.#list(depth);
    else if (type === STRUCT) this.struct(depth + 1);
    else throw new Error(`a field has the type ${type}, which Parquet does not use`);
  }

  #binary(): void {
    const length = this.varint();
    this.longest = Math.max(this.longest, length);
    this.#skip(length);
  }

  #list(depth: number): void {
    if (depth > DEEPEST) throw new Error('lists nest too deep');
    const start = this.#byte();
    const count = start >> 4 === 15 ? this.varint() : start >> 4;
    // Every element has at least a byte.
    if (count > this.#bytes.byteLength - this.at) throw new Error(`a list claims ${count} elements`);
    for (let i = 0; i < count; i++) this.#element(start & 0x0f, depth + 1);
  }

  #byte(): number {
    this.#skip(1);
    return this.#bytes[this.at - 1] ?? 0;
  }

  #skip(length: number): void {
    if (length > this.#bytes.byteLength - this.at) throw new Error('a struct is cut off');
    this.at += length;
  }
}
