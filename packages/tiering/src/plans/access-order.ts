import { sortedBy } from './sorted-by.js';

/** The samples for which `isTaken` holds, by their first access. */
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
