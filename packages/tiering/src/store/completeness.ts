/** Whether all that is on a tier's storage is in its index. What sees to that is a listing, which may fail, and is made again then. */
export class Completeness {
  readonly #sweep: (signal: AbortSignal | undefined) => Promise<void>;
  #isReached: boolean;
  #hasFailed = false;
  #again: Promise<void> | undefined;

  /**
   * @param isReached Whether that is known without a listing.
   * @param sweep Lists what is there.
   */
  constructor(isReached: boolean, sweep: (signal: AbortSignal | undefined) => Promise<void>) {
    this.#isReached = isReached;
    this.#sweep = sweep;
  }

  get isReached(): boolean {
    return this.#isReached;
  }

  /** Lists, if that is necessary. Rejects as the listing does. */
  async reach(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isReached) return;
    try {
      await this.#sweep(signal);
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    }
    this.#hasFailed = false;
    this.#isReached = true;
  }

  /** Lists in the background if the last listing failed; calls back once one did not. */
  again(signal: () => AbortSignal, onReached: () => void): void {
    if (!this.#hasFailed || this.#again !== undefined) return;
    this.#again = this.reach(signal())
      .then(onReached)
      .catch(() => undefined)
      .finally(() => (this.#again = undefined));
  }

  /** Resolves when nothing is being listed again. */
  async settled(): Promise<void> {
    await this.#again;
  }
}
