import type { Tier } from '../tier/tier.js';

/**
 * Estimates how long a read takes at each place. A hierarchy uses it to choose among places that hold the
 * same bytes (NoPFS, section 4: a sample is fetched from the fastest source that has it). `@tiered/simulator`
 * makes one from measurements.
 */
export interface FetchModel {
  /**
   * Returns the duration of a read in milliseconds. Called for every read of an object with a copy, so it
   * must be quick, and it must not throw. NaN counts as longer than anything.
   * @param level The level of the tier, 0 for the fastest, or the number of tiers for the source.
   * @param bytes Length of the read, at least 1.
   * @param underWay Reads in flight at this place, this one included.
   */
  fetchMs(level: number, bytes: number, underWay: number): number;
  /**
   * Returns the milliseconds of the source that a copy of an object of this size saves each time it is read,
   * at least 0: its share of the latency, and its bytes. Plans use it. Default: the assumptions of plans for
   * an unmeasured source.
   */
  readonly savedMs?: ((bytes: number) => number) | undefined;
  /**
   * Returns the durations of reads below the tiers, if other workers of a cluster were measured.
   * @param workers All workers that read from the source, this one included.
   */
  readonly peers?: ((workers: number) => PeerModel) | undefined;
}

/**
 * Estimates how long reads take below the tiers of a worker of a cluster. A read uses it to go to a peer or
 * to the source, whichever is faster (HDMLP, section 5.2). `peerModelOf` of `@tiered/simulator/calibration`
 * makes one from measurements.
 */
export interface PeerModel {
  /**
   * Returns the duration of a read from a peer in milliseconds. Called for each read of an object that a peer
   * keeps, so it must be quick, and it must not throw. NaN counts as longer than anything.
   * @param bytes Length of the read, at least 1.
   * @param underWay Reads of this worker in flight at that peer, this one included.
   */
  peerMs(bytes: number, underWay: number): number;
  /**
   * Returns the duration of a read from the source in milliseconds. As `peerMs`.
   * @param underWay Reads of this worker in flight at the source, this one included.
   */
  sourceMs(bytes: number, underWay: number): number;
}

/** Chooses between a copy and the source by a model, and counts the reads in flight for the model. */
export class PlaceChoice {
  readonly #model: FetchModel;
  /** By level. */
  readonly #underWay: number[];

  constructor(model: FetchModel, tiers: number) {
    this.#model = model;
    this.#underWay = Array.from({ length: tiers + 1 }, () => 0);
  }

  /**
   * Whether the source returns so many bytes sooner than this tier, which already counts the read. In doubt
   * the tier is chosen, because it costs other users nothing.
   */
  prefersSource({ level }: Tier, bytes: number): boolean {
    const source = this.#underWay.length - 1;
    return this.#ms(source, bytes, this.#readsAt(source) + 1) < this.#ms(level, bytes, this.#readsAt(level));
  }

  /** Records that a read begins, at a tier or, without one, at the source. */
  began(tier: Tier | undefined): void {
    this.#count(tier, 1);
  }

  ended(tier: Tier | undefined): void {
    this.#count(tier, -1);
  }

  #count(tier: Tier | undefined, change: number): void {
    const level = tier?.level ?? this.#underWay.length - 1;
    this.#underWay[level] = this.#readsAt(level) + change;
  }

  #readsAt(level: number): number {
    return this.#underWay[level] ?? 0;
  }

  #ms(level: number, bytes: number, underWay: number): number {
    const ms = this.#model.fetchMs(level, bytes, underWay);
    return ms >= 0 ? ms : Infinity;
  }
}
