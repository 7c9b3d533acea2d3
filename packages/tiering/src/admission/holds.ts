import type { LevelHold } from '@tiered/core/placement';
import type { TierEvents } from '../tier/tier-events.js';

/** What holds work with once the tiers are open. */
export interface HoldsParts {
  readonly events: TierEvents;
  /** Bytes of the largest copy for which a level has room. */
  readonly freeBytes: (level: number) => number;
  /** Evicts copies of a level that were placed here, of at least so many bytes. */
  readonly giveBack: (level: number, bytes: number) => void;
}

/** The copies of one level that were placed here, once somebody wants to know. */
class Hold {
  /** Bytes of copies on their way. */
  coming = 0;
  /** Bytes that there may be, with those on their way. */
  most = Infinity;
  held = 0;
  /** Bytes of a copy, by object, in the order in which they were placed. Undefined: nobody wants to know. */
  copies: Map<number, number> | undefined;

  add(id: number, bytes: number): void {
    this.remove(id);
    if (this.copies === undefined) return;
    this.copies.set(id, bytes);
    this.held += bytes;
  }

  remove(id: number): void {
    this.held -= this.copies?.get(id) ?? 0;
    this.copies?.delete(id);
  }

  clear(): void {
    this.copies?.clear();
    this.held = 0;
  }
}

/**
 * What was placed here on each level, and how much of that there may be: several processes may share out a
 * level. Until somebody asks, nothing is counted but what is on its way, and nothing is bounded.
 */
export class Holds {
  readonly #levels = new Map<number, Hold>();
  #parts: HoldsParts | undefined;

  /** The tiers are open. */
  begin(parts: HoldsParts): void {
    this.#parts = parts;
    parts.events.on('removed', (level, id) => this.#at(level).remove(id));
    parts.events.on('void', (level) => this.#at(level).clear());
  }

  /** See `Placement.hold`. */
  of(level: number): LevelHold {
    const hold = this.#at(level);
    hold.copies ??= new Map();
    const freeBytes = () => this.#parts?.freeBytes(level) ?? 0;
    return {
      get heldBytes() {
        return hold.held;
      },
      get freeBytes() {
        return freeBytes();
      },
      keepTo: (bytes) => {
        hold.most = bytes;
      },
      giveBack: (bytes) => {
        this.#parts?.giveBack(level, bytes);
      },
    };
  }

  /** A copy is on its way to a level, until `ended` is called with it. */
  begun(level: number, bytes: number): void {
    this.#at(level).coming += bytes;
  }

  /** See `begun`. */
  ended(level: number, bytes: number): void {
    this.#at(level).coming -= bytes;
  }

  /** A copy is on a level now. */
  placed(level: number, id: number, bytes: number): void {
    this.#at(level).add(id, bytes);
  }

  /** Bytes that may still come to a level; less than nothing if there are too many. */
  roomOn(level: number): number {
    const { most, held, coming } = this.#at(level);
    return most - held - coming;
  }

  /** The first of some objects whose copies were placed here on a level, until they come to so many bytes. */
  enoughOf(level: number, bytes: number, objects: Iterable<number>): number[] {
    const { copies } = this.#at(level);
    const enough: number[] = [];
    let left = bytes;
    for (const id of objects) {
      if (left <= 0) break;
      const own = copies?.get(id);
      if (own === undefined) continue;
      enough.push(id);
      left -= own;
    }
    return enough;
  }

  /** The objects with copies that were placed here on a level, the last one first. */
  lastFirst(level: number): number[] {
    return [...(this.#at(level).copies?.keys() ?? [])].reverse();
  }

  #at(level: number): Hold {
    let hold = this.#levels.get(level);
    if (hold === undefined) this.#levels.set(level, (hold = new Hold()));
    return hold;
  }
}
