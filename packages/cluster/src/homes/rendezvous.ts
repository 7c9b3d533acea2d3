import type { HashOf, Homes } from './homes.js';

/**
 * Rendezvous hashing (Thaler and Ravishankar, 1998): each worker has a weight for each key, and the largest
 * is the home. All workers get equal shares. When a worker joins or leaves, only the objects it gets, or had,
 * change their home. Costs a hash of the key and a multiplication for each worker: 1,024 workers take some 2
 * us.
 */
export class RendezvousHomes implements Homes {
  readonly #ranks: Uint32Array;
  readonly #hashOf: HashOf;

  /** @param ranks The workers that keep objects, in any order. */
  constructor(ranks: readonly number[], hashOf: HashOf) {
    this.#ranks = Uint32Array.from(ranks);
    this.#hashOf = hashOf;
  }

  of(key: string): readonly number[] {
    const hash = this.#hashOf(key);
    let [home, most] = [-1, -1];
    for (const rank of this.#ranks) {
      const weight = weightOf(hash, rank);
      // Equal weights go to the lowest rank, so the order of the list does not matter.
      if (weight < most || (weight === most && rank > home)) continue;
      [home, most] = [rank, weight];
    }
    return home === -1 ? [] : [home];
  }
}

/** Mixes all bits of both into a 32-bit number: the finalizer of MurmurHash3. */
function weightOf(hash: number, rank: number): number {
  let mixed = hash ^ Math.imul(rank + 1, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
