import { Random } from '../support/random.js';

/** Bytes that look like nothing else, the same for the same seed: what is read tells whose it is. */
export function someBytes(size: number, seed: number): Uint8Array {
  const random = new Random(seed);
  return Uint8Array.from({ length: size }, () => random.below(256));
}
