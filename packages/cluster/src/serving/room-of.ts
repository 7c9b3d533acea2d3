import type { Clock, Hierarchy } from '@tiered/core';

/** For so long an answer holds, in milliseconds: to ask costs a look at every tier. */
const HOLDS_MS = 100;

/**
 * Whether a hierarchy has room for another object: some tier has as many bytes left, or has made room before.
 * A worker without room does not fetch for others, whose bytes it would only pass through.
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
