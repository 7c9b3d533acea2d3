import type { LevelHold } from '@tiered/core/placement';
import type { TierEvents } from '../tier/tier-events.js';

/** Dependencies of `Holds`, once the tiers are open. */
export interface HoldsParts {
  readonly events: TierEvents;
  /** Bytes of the largest copy that fits on a level. */
  readonly freeBytes: (level: number) => number;
  /** Evicts copies of a level that this handler placed, of at least this many bytes. */
  readonly giveBack: (level: number, bytes: number) => void;
}

/** The copies of one level that this handler placed, counted once a caller asks for them. */
class Hold {
  /** Bytes of copies in flight. */
  coming = 0;
  /** Maximum bytes that may be held, including bytes in flight. */
  most = Infinity;
  held = 0;
  /** Bytes of each copy, by object, in the order of placement. Undefined until a caller asks. */
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
 * The bytes that this handler placed on each level, and their bound: several processes may divide a level
 * among them. Until a caller asks, only bytes in flight are counted, and nothing is bounded.
 */
export class Holds {
  readonly #levels = new Map<number, Hold>();
  #parts: HoldsParts | undefined;

  /** Called once the tiers are open. */
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

  /** Counts a copy as in flight to a level until `ended` is called with it. */
  begun(level: number, bytes: number): void {
    this.#at(level).coming += bytes;
  }

  /** See `begun`. */
  ended(level: number, bytes: number): void {
    this.#at(level).coming -= bytes;
  }

  /** Counts a copy as placed on a level. */
  placed(level: number, id: number, bytes: number): void {
    this.#at(level).add(id, bytes);
  }

  /** Bytes that may still be placed on a level; negative if there are too many. */
  roomOn(level: number): number {
    const { most, held, coming } = this.#at(level);
    return most - held - coming;
  }

  /** The first of the given objects whose copies this handler placed on a level, up to this many bytes. */
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

  /** The objects whose copies this handler placed on a level, the latest first. */
  lastFirst(level: number): number[] {
    return [...(this.#at(level).copies?.keys() ?? [])].reverse();
  }

  #at(level: number): Hold {
    let hold = this.#levels.get(level);
    if (hold === undefined) this.#levels.set(level, (hold = new Hold()));
    return hold;
  }
}
