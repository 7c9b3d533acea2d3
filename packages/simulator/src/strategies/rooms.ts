import type { PlacementCandidate, PlacementPolicy, TierRoom } from '@tiered/tiering';
import { quotasOf, type World } from './strategy.js';

/**
 * Asks the live placement policies, one for each worker, as `PlacementHandler` does, with the free room of
 * each worker. One object is used for all questions, so a sample costs no memory.
 */
export class RoomsOfWorkers {
  readonly #sizes: Float64Array;
  readonly #policies: readonly PlacementPolicy[];
  readonly #rooms: readonly (readonly Room[])[];
  readonly #candidate = new Candidate();

  constructor(
    world: World,
    policyOf: (worker: number) => PlacementPolicy,
    levels = world.system.levels.length,
  ) {
    const workers = Array.from({ length: world.sampler.workers }, (_, worker) => worker);
    this.#sizes = world.sizes;
    this.#policies = workers.map(policyOf);
    this.#rooms = workers.map(() =>
      quotasOf(world)
        .slice(0, levels)
        .map((quota, level) => new Room(level, quota)),
    );
  }

  /** Returns the level that a worker's policy chooses for a sample; undefined if none. */
  choose(worker: number, sample: number): number | undefined {
    const candidate = this.#candidate;
    candidate.sample = sample;
    candidate.size = this.#sizes[sample] ?? 0;
    return this.#policies[worker]?.place(candidate, this.#rooms[worker] ?? []);
  }

  /** As `choose`, and takes the room. */
  place(worker: number, sample: number): number | undefined {
    const level = this.choose(worker, sample);
    const room = level === undefined ? undefined : this.#rooms[worker]?.[level];
    if (room !== undefined) room.freeBytes -= this.#sizes[sample] ?? 0;
    return level;
  }

  free(worker: number, level: number): number {
    return this.#rooms[worker]?.[level]?.freeBytes ?? 0;
  }

  /** Notes that a sample was evicted from a level. */
  release(worker: number, level: number, bytes: number): void {
    const room = this.#rooms[worker]?.[level];
    if (room !== undefined) room.freeBytes += bytes;
  }
}

class Room implements TierRoom {
  readonly level: number;
  readonly quotaBytes: number;
  freeBytes: number;

  constructor(level: number, quotaBytes: number) {
    this.level = level;
    this.quotaBytes = this.freeBytes = quotaBytes;
  }
}

/** A sample as a policy sees it: an object of its own, placed whole or not at all. */
class Candidate implements PlacementCandidate {
  sample = 0;
  size = 0;

  get key(): string {
    return String(this.sample);
  }

  get chunkBytes(): number {
    return this.size;
  }
}
