/**
 * The hash of a key: 32 bits of its UTF-16 code units, two at a time. Each step is a bijection of the hash so
 * far, and folds the high half into the low one, so that no later unit can undo it. The end is that of
 * MurmurHash3 (Appleby). There are three versions, for the three forms of a key: a string, one byte per unit,
 * two bytes per unit. All three give the same hash. It never leaves this process: no file depends on it.
 */

const MULTIPLIER = 0x9e3779b1;

/** The hash of a string. */
export function hashOfString(key: string): number {
  const { length } = key;
  let hash = length;
  let i = 1;
  for (; i < length; i += 2) {
    hash = Math.imul(hash ^ key.charCodeAt(i - 1) ^ (key.charCodeAt(i) << 16), MULTIPLIER);
    hash ^= hash >>> 15;
  }
  return finish(i === length ? hash ^ key.charCodeAt(i - 1) : hash);
}

/** The hash of a string with one byte per unit. */
export function hashOfNarrow(bytes: Uint8Array, at: number, length: number): number {
  let hash = length;
  let i = 1;
  for (; i < length; i += 2) {
    hash = Math.imul(hash ^ byteAt(bytes, at + i - 1) ^ (byteAt(bytes, at + i) << 16), MULTIPLIER);
    hash ^= hash >>> 15;
  }
  return finish(i === length ? hash ^ byteAt(bytes, at + i - 1) : hash);
}

/** The hash of a string with two bytes per unit, the lower one first. */
export function hashOfWide(bytes: Uint8Array, at: number, length: number): number {
  let hash = length;
  let i = 1;
  for (; i < length; i += 2) {
    const next = at + 2 * i;
    hash = Math.imul(hash ^ unitAt(bytes, next - 2) ^ (unitAt(bytes, next) << 16), MULTIPLIER);
    hash ^= hash >>> 15;
  }
  return finish(i === length ? hash ^ unitAt(bytes, at + 2 * i - 2) : hash);
}

/** A byte within the bounds. */
export function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] as number;
}

/** Two bytes, the lower one first. */
export function unitAt(bytes: Uint8Array, at: number): number {
  return byteAt(bytes, at) | (byteAt(bytes, at + 1) << 8);
}

function finish(hash: number): number {
  let h = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
