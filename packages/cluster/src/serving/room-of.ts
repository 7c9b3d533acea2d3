import type { Clock, Hierarchy } from '@tiered/core';

/** Milliseconds for which an answer is reused, since computing it costs a look at every tier. */
const HOLDS_MS = 100;

/**
 * Says whether a hierarchy has room for another object: a tier has enough bytes left, or some tier has
 * evicted before. A worker without room does not fetch for others, since it would only pass the bytes
 * through.
 */
export class RoomOf {
  readonly #hierarchy: Hierarchy;
  readonly #clock: Clock;
  #until = -Infinity;
  #most = 0;

  constructor(hierarchy: Hierarchy, clock: Clock) {
    this.#hierarchy = hierarchy;
    this.#clock = clock;
  }

  has(bytes: number): boolean {
    const now = this.#clock.now();
    if (now >= this.#until) {
      this.#until = now + HOLDS_MS;
      const { tiers, placement } = this.#hierarchy.stats();
      this.#most =
        placement.evicted > 0 ? Infinity : Math.max(...tiers.map((tier) => tier.quotaBytes - tier.usedBytes));
    }
    return bytes <= this.#most;
  }
}
