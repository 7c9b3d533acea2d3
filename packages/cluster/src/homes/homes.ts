/** The hash of a key, of 32 bits. The same on all workers. */
export type HashOf = (key: string) => number;

/** Says which worker keeps an object. The same on all workers, without a message. */
export interface Homes {
  /**
   * The workers to ask for an object, by rank, in this order; the last one is its home, who fetches it for
   * all. Empty: nobody keeps it, so whoever needs it reads the source. Called for each read that no tier
   * serves.
   */
  of(key: string): readonly number[];
}

/**
 * Homes after a change of workers, or of the plan. The former home of an object is asked before the new one,
 * because it has the object if anybody has. It fetches nothing for others any more.
 */
export class MovedHomes implements Homes {
  readonly #former: Homes;
  readonly #present: Homes;

  constructor(former: Homes, present: Homes) {
    this.#former = former;
    this.#present = present;
  }

  of(key: string): readonly number[] {
    const present = this.#present.of(key);
    const former = this.#former.of(key).at(-1);
    return former === undefined || present.includes(former) ? present : [former, ...present];
  }
}
