import { Random } from '../support/random.js';

/** Pseudorandom bytes, the same for the same seed, so that a read identifies its object. */
export function someBytes(size: number, seed: number): Uint8Array {
  const random = new Random(seed);
  return Uint8Array.from({ length: size }, () => random.below(256));
}
