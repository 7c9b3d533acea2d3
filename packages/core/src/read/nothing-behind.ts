/**
 * Zeros over what an earlier try wrote behind the bytes that this one gave: whatever of the target was written to and
 * is no part of the object must not look as if it were. Returns the number of bytes given.
 */
export function nothingBehind(target: Uint8Array, count: number, written: number): number {
  if (count < written) target.fill(0, count, written);
  return count;
}
