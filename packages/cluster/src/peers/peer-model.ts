/**
 * Says how long reads take below the tiers of a worker. By it a read goes to a peer or to the source,
 * whichever is sooner (HDMLP, section 5.2). `peerModelOf` of `@tiered/simulator/calibration` makes one of
 * measurements.
 */
export interface PeerModel {
  /**
   * Returns the milliseconds that a read from a peer takes. Called for each read of an object that a peer
   * keeps, so it must be quick, and it must not throw. NaN counts as longer than anything.
   * @param bytes Length of the read, at least 1.
   * @param underWay Reads of this worker under way at that peer, this one included.
   */
  peerMs(bytes: number, underWay: number): number;
  /**
   * Returns the milliseconds that a read from the source takes. As `peerMs`.
   * @param underWay Reads of this worker under way at the source, this one included.
   */
  sourceMs(bytes: number, underWay: number): number;
}

/** Chooses between peers and the source by a model. */
export class PeerChoice {
  readonly #model: PeerModel | undefined;
  #atSource = 0;

  /** @param model Default: none, so that peers are asked first. */
  constructor(model: PeerModel | undefined) {
    this.#model = model;
  }

  /** Whether the source gives so many bytes sooner than a peer. In doubt the peer is asked. */
  prefersSource({ underWay }: { readonly underWay: number }, bytes: number): boolean {
    if (this.#model === undefined) return false;
    const source = longOr(this.#model.sourceMs(bytes, this.#atSource + 1));
    return source < longOr(this.#model.peerMs(bytes, underWay + 1));
  }

  /** Makes a read of the source, and counts it as under way. */
  async read<T>(read: () => Promise<T>): Promise<T> {
    this.#atSource += 1;
    try {
      return await read();
    } finally {
      this.#atSource -= 1;
    }
  }
}

function longOr(ms: number): number {
  return ms >= 0 ? ms : Infinity;
}
