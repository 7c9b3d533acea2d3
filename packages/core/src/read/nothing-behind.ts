/**
 * Overwrites with zeros what an earlier try wrote behind the bytes that this one gave. Otherwise bytes of the
 * target that are not part of the object would look as if they were. Returns the number of bytes given.
 */
export function nothingBehind(target: Uint8Array, count: number, written: number): number {
  if (count < written) target.fill(0, count, written);
  return count;
}
