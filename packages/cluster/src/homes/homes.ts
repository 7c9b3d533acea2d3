/** The hash of a key, of 32 bits. The same on all workers. */
export type HashOf = (key: string) => number;

/** Says which worker keeps an object. The same on all workers, without a message. */
export interface Homes {
  /**
   * The ranks of the workers to ask for an object, in order. The last one is its home, which fetches it for
   * all. Empty if no worker keeps the object; it is then read from the source. Called for each read that no
   * tier serves.
   */
  of(key: string): readonly number[];
}

/**
 * Homes after the workers or the plan have changed. The former homes of an object are asked before its home,
 * the latest first, because they have the object if any worker does. They no longer fetch for others.
 */
export class MovedHomes implements Homes {
  readonly #formers: readonly Homes[];
  readonly #present: Homes;

  /** @param formers The homes before the present ones, the latest first. */
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
