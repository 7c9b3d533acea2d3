/** Bytes written as hex, with white space and comments after `//` for the reader. */
export function hex(text: string): Uint8Array {
  const digits = text.replace(/\/\/.*$/gm, '').replace(/\s/g, '');
  return Uint8Array.from(Buffer.from(digits, 'hex'));
}

/** Bytes one behind the other. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}

/** A copy in memory that threads share, starting at an odd offset as a record in a shard may. */
export function inSharedMemory(bytes: Uint8Array): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.byteLength + 5), 3, bytes.byteLength);
  shared.set(bytes);
  return shared;
}

/** A copy with one bit turned over; bits count from the lowest of the first byte. */
export function flipBit(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = bytes.slice();
  const at = bit >> 3;
  copy[at] = (copy[at] ?? 0) ^ (1 << (bit & 7));
  return copy;
}
