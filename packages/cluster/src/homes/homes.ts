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
 * Homes after changes of workers, or of the plan. The former homes of an object are asked before its home,
 * the last one first, because they have the object if anybody has. They fetch nothing for others any more.
 */
export class MovedHomes implements Homes {
  readonly #formers: readonly Homes[];
  readonly #present: Homes;

  /** @param formers Those before the present ones, the last ones first. */
  constructor(formers: readonly Homes[], present: Homes) {
    this.#formers = formers;
    this.#present = present;
  }

  of(key: string): readonly number[] {
    const present = this.#present.of(key);
    const asked = new Set(this.#formers.flatMap((homes) => homes.of(key).slice(-1)));
    for (const rank of present) asked.delete(rank);
    return [...asked, ...present];
  }
}
