import type { Patiently } from '../index/until-free.js';

/** Lists the storage. */
type Sweep = (signal: AbortSignal | undefined, patiently: Patiently) => Promise<void>;

/**
 * Whether everything on a tier's storage is in its index. A listing makes it so. The listing may fail; then
 * the next caller that needs it tries again.
 */
export class Completeness {
  readonly #sweep: Sweep;
  #isReached: boolean;

  /**
   * @param isReached Whether that is known to be so without a listing.
   * @param sweep Lists the storage.
   */
  constructor(isReached: boolean, sweep: Sweep) {
    this.#isReached = isReached;
    this.#sweep = sweep;
  }

  get isReached(): boolean {
    return this.#isReached;
  }

  /**
   * Lists the storage, if necessary. Rejects as the listing does.
   * @param patiently Makes calls of the index.
   */
  async reach(signal: AbortSignal | undefined, patiently: Patiently): Promise<void> {
    if (this.#isReached) return;
    await this.#sweep(signal, patiently);
    this.#isReached = true;
  }
}
