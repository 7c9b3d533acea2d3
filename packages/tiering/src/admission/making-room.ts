import type { PlacementPolicy } from '../policies/policy.js';
import type { TierEvents } from '../tier/tier-events.js';
import type { Holds } from './holds.js';
import { Recency } from './recency.js';
import { SegmentRoom, type SegmentRoomParts } from './segment-room.js';

/** Dependencies of `MakingRoom`. */
export interface MakingRoomParts extends Omit<SegmentRoomParts, 'recency'> {
  readonly policy: PlacementPolicy;
  readonly holds: Holds;
  readonly events: TierEvents;
}

/** Evicts copies if the policy evicts, least recently read first. */
export class MakingRoom {
  readonly #parts: MakingRoomParts;
  readonly #recency: readonly Recency[];
  readonly #segments: SegmentRoom;

  constructor(parts: MakingRoomParts) {
    this.#parts = parts;
    this.#recency = parts.host.tiers.map(() => new Recency());
    this.#segments = new SegmentRoom({ ...parts, recency: this.#recency });
    parts.events.on('sparse', (level) => this.#segments.tidy(level));
  }

  get underWay(): Promise<void>[] {
    return this.#segments.underWay;
  }

  /** Records that an object was read from a level, or placed on it. */
  touch(id: number, level: number, bytes = this.#parts.host.namespace.sizeOf(id)): void {
    if (this.#parts.policy.evicts === true) this.#recency[level]?.touch(id, bytes);
  }

  forget(id: number, level: number): void {
    this.#recency[level]?.forget(id);
  }

  /** Keeps room on a level for one more object, and at least for this many bytes. */
  on(level: number, size: number): void {
    const { policy, copies, host, holds } = this.#parts;
    const recency = this.#recency[level];
    if (policy.evicts !== true || recency === undefined) return;
    const most = Math.max(size, recency.largest);
    const share = holds.roomOn(level);
    // A handler beyond its share gives back bytes when others need them, not because of its own reads.
    if (share < 0) return;
    if (share < most) this.giveBack(level, most - share);
    if (host.tiers[level]?.layout === 'packed') {
      this.#segments.makeRoom(level, size);
      return;
    }
    let free = copies.stores.at(level).freeBytes + copies.removals.bytesLeaving(level);
    while (free < most) {
      const oldest = recency.oldest();
      if (oldest === undefined) return;
      if (this.#evict(oldest.id, level)) free += oldest.bytes;
    }
  }

  /** Evicts copies that this handler placed, of at least this many bytes if there are enough. */
  giveBack(level: number, bytes: number): void {
    const { policy, holds, closing } = this.#parts;
    const recency = this.#recency[level];
    if (closing.aborted || recency === undefined) return;
    const inOrder = policy.evicts === true ? recency.oldestFirst() : holds.lastFirst(level);
    // Listed before any is evicted, because eviction changes the order.
    for (const id of holds.enoughOf(level, bytes, inOrder)) {
      this.#evict(id, level);
      recency.forget(id);
    }
  }

  /** Evicts the copy of an object from a level. False if there is none. */
  #evict(id: number, level: number): boolean {
    const { copies, host, onEvicted } = this.#parts;
    const isServed = host.namespace.levelOf(id) === level;
    // A copy may have stayed next to a faster one that is served.
    if (!isServed && !copies.isCovered(id)) return false;
    onEvicted();
    const object = host.namespace.objectOf(id);
    if (isServed) copies.drop(object, level, 'evicted');
    else copies.removeFrom(object, level);
    return true;
  }
}
