import fc from 'fast-check';

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

/** A place in bytes as a share of them, so that it fits bytes of any length. */
const anyPlace = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

const anyChange = fc.oneof(
  fc.record({
    kind: fc.constant('set' as const),
    place: anyPlace,
    bytes: fc.uint8Array({ minLength: 1, maxLength: 4 }),
  }),
  fc.record({
    kind: fc.constant('insert' as const),
    place: anyPlace,
    bytes: fc.uint8Array({ minLength: 1, maxLength: 600 }),
  }),
  fc.record({
    kind: fc.constant('remove' as const),
    place: anyPlace,
    bytes: fc.uint8Array({ minLength: 1, maxLength: 600 }),
  }),
  fc.record({ kind: fc.constant('cut' as const), place: anyPlace, bytes: fc.constant(new Uint8Array(0)) }),
);

/**
 * What may happen to bytes: some are changed, added or lost, or the end is cut off; once or several times.
 */
export const anyDamage = fc.array(anyChange, { minLength: 1, maxLength: 3 }).map(
  (changes) =>
    (whole: Uint8Array): Uint8Array =>
      changes.reduce<Uint8Array>((bytes, { kind, place, bytes: content }) => {
        const at = Math.floor(place * bytes.byteLength);
        const start = bytes.subarray(0, at);
        const rest = bytes.subarray(at + (kind === 'insert' ? 0 : content.byteLength));
        if (kind === 'cut') return start;
        return Uint8Array.from(Buffer.concat([start, kind === 'remove' ? new Uint8Array(0) : content, rest]));
      }, whole),
);
