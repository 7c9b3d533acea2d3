/**
 * Whether everything on a tier's storage is in its index. A listing makes it so. The listing may fail; then
 * the next caller that needs it tries again.
 */
export class Completeness {
  readonly #sweep: (signal: AbortSignal | undefined) => Promise<void>;
  #isReached: boolean;

  /**
   * @param isReached Whether that is known to be so without a listing.
   * @param sweep Lists the storage.
   */
  constructor(isReached: boolean, sweep: (signal: AbortSignal | undefined) => Promise<void>) {
    this.#isReached = isReached;
    this.#sweep = sweep;
  }

  get isReached(): boolean {
    return this.#isReached;
  }

  /** Lists the storage, if necessary. Rejects as the listing does. */
  async reach(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isReached) return;
    await this.#sweep(signal);
    this.#isReached = true;
  }
}
