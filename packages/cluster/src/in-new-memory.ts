import { memoryFor } from '@tiered/core/internal';

/** Reads a range by what reads into memory. Returns the part of the memory that was filled. */
export async function inNewMemory(
  key: string,
  length: number,
  readInto: (target: Uint8Array) => Promise<number>,
): Promise<Uint8Array> {
  const target = memoryFor(length, key);
  return target.subarray(0, await readInto(target));
}
