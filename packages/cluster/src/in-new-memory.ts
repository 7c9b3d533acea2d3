import { memoryFor } from '@tiered/core/internal';

/** Reads a range into new memory, with a function that fills memory. Returns the part that was filled. */
export async function inNewMemory(
  key: string,
  length: number,
  readInto: (target: Uint8Array) => Promise<number>,
): Promise<Uint8Array> {
  const target = memoryFor(length, key);
  return target.subarray(0, await readInto(target));
}
