/** The samples for which `isTaken` holds, ordered by first access. */
export function inOrderOfAccess(first: ArrayLike<number>, isTaken: (sample: number) => boolean): Uint32Array {
  let count = 0;
  for (let sample = 0; sample < first.length; sample++) if (isTaken(sample)) count += 1;
  const samples = new Uint32Array(count);
  const accesses = new Uint32Array(count);
  for (let sample = 0, at = 0; at < count; sample++) {
    if (!isTaken(sample)) continue;
    samples[at] = sample;
    accesses[at++] = first[sample] ?? 0;
  }
  return sortedBy(samples, accesses);
}

const DIGIT_BITS = 8;
const DIGITS = 2 ** DIGIT_BITS;

/**
 * Sorts items by ascending keys; items with equal keys keep their order. A radix sort: linear time, and as
 * much extra memory as the arguments, which are overwritten. A digit that is the same in all keys costs one
 * look at each key.
 * @param keys The key of each item, in the order of the items.
 */
export function sortedBy(items: Uint32Array, keys: Uint32Array): Uint32Array {
  let [from, fromKeys] = [items, keys];
  let [to, toKeys]: [Uint32Array, Uint32Array] = [
    new Uint32Array(items.length),
    new Uint32Array(items.length),
  ];
  for (let shift = 0; shift < 32; shift += DIGIT_BITS) {
    const places = placesByDigit(fromKeys, shift);
    if (places === undefined) continue;
    for (let at = 0; at < from.length; at++) {
      const key = fromKeys[at] ?? 0;
      const digit = (key >>> shift) & (DIGITS - 1);
      const place = places[digit] ?? 0;
      places[digit] = place + 1;
      to[place] = from[at] ?? 0;
      toKeys[place] = key;
    }
    [from, to] = [to, from];
    [fromKeys, toKeys] = [toKeys, fromKeys];
  }
  return from;
}

/** The place of the first key with each digit; undefined if all keys have the same digit. */
function placesByDigit(keys: Uint32Array, shift: number): Uint32Array | undefined {
  const places = new Uint32Array(DIGITS);
  for (let at = 0; at < keys.length; at++) {
    const digit = ((keys[at] ?? 0) >>> shift) & (DIGITS - 1);
    places[digit] = (places[digit] ?? 0) + 1;
  }
  let place = 0;
  for (const [digit, count] of places.entries()) {
    if (count === keys.length) return undefined;
    places[digit] = place;
    place += count;
  }
  return places;
}
