import { configError } from '@tiered/core/internal';
import type { ObjectRef, PlacementHost } from '@tiered/core/placement';
import type { CopyIndex } from '../ledger/copy-index.js';
import type { FillObject } from '../fill/fill-parts.js';
import type { MemoryBudget } from '../memory/memory-budget.js';
import type { PlacementPolicy, TierRoom } from '../policies/policy.js';
import type { ChunkSize } from '../source/chunk-size.js';
import type { FillFailures } from './fill-failures.js';
import type { Holds } from './holds.js';

/**
 * Objects on their way at the same time. Readers that read the beginning of an object and leave could begin
 * any number, and each costs a few KB even before its first chunk.
 */
const MOST_AT_A_TIME = 16_384;
/** Objects of several chunks among them: each has a file open from its first chunk to its last. */
const MOST_FILES = 256;

/** What limits what may be placed. */
export interface CapacityParts {
  readonly host: PlacementHost;
  readonly policy: PlacementPolicy;
  readonly copies: CopyIndex;
  readonly budget: MemoryBudget;
  readonly chunkSize: ChunkSize;
  readonly failures: FillFailures;
  /** What may be placed here on levels that are shared out. */
  readonly holds: Holds;
  /** Whether readers wait for memory, rather than go on without it. */
  readonly readersWait: boolean;
}

/** What the levels, the memory and the number of open files leave room for at this moment. */
export class Capacity {
  readonly #parts: CapacityParts;
  /** Objects that are on their way, and those of several chunks among them. */
  #underWay = 0;
  #large = 0;

  constructor(parts: CapacityParts) {
    this.#parts = parts;
  }

  /** An object is on its way, until `end` is called with it. */
  begin(object: FillObject): void {
    this.#underWay += 1;
    if (isLarge(object)) this.#large += 1;
  }

  /** See `begin`. */
  end(object: FillObject): void {
    this.#underWay -= 1;
    if (isLarge(object)) this.#large -= 1;
  }

  /** Whether another object may be begun: not too many are on their way, and they are not stuck. */
  keepsUp(object: FillObject, level: number, bytes: number): boolean {
    const { budget, readersWait } = this.#parts;
    if (this.#underWay >= MOST_AT_A_TIME || budget.isStalled) return false;
    if (isLarge(object) && this.#large >= MOST_FILES) return false;
    return readersWait || budget.hasRoom(this.#isBuffered(level) ? 2 * bytes : object.chunkBytes);
  }

  /**
   * Whether a level keeps in memory what is written until it is published. Bytes on their way then count
   * twice.
   */
  #isBuffered(level: number): boolean {
    return this.#parts.host.tiers[level]?.driver.capabilities.buffersWrites === true;
  }

  /** The object, unless it is gone, or so large that not even a chunk of it fits into memory. */
  candidate(object: ObjectRef): FillObject | undefined {
    if (!this.#parts.host.namespace.isKnown(object.id)) return undefined;
    const chunkBytes = this.#parts.chunkSize.ofObject(object.size);
    return chunkBytes === undefined ? undefined : { ...object, chunkBytes };
  }

  /** Faster levels than `below` that accept the object now without holding more in memory than allowed. */
  rooms({ id, size }: FillObject, below: number): TierRoom[] {
    const { host, copies, budget, failures } = this.#parts;
    const rooms: TierRoom[] = [];
    for (const { level, writing } of host.tiers) {
      if (level >= below) break;
      if (!writing.inService || failures.refuses(level, id)) continue;
      if (this.#isBuffered(level) && !budget.canHold(2 * size)) continue;
      const { quotaBytes } = copies.stores.at(level);
      rooms.push({ level, quotaBytes, freeBytes: this.freeBytes(level) });
    }
    return rooms;
  }

  /** Bytes of the largest copy that may come to a level. */
  freeBytes(level: number): number {
    const { copies, holds } = this.#parts;
    return Math.max(0, Math.min(copies.stores.at(level).freeBytes, holds.roomOn(level)));
  }

  /**
   * Bytes of the copy: all of an object, or as much of it as fits.
   * @throws TieredError `TIERED_CONFIG_INVALID` for a level that the policy should not have chosen.
   */
  bytesFor({ key, size, chunkBytes }: FillObject, level: number): number {
    const { host, policy } = this.#parts;
    const room = host.tiers[level] === undefined ? -1 : this.freeBytes(level);
    // All the room there is, not a whole number of chunks: a partial copy may end anywhere.
    const bytes = Math.min(size, room);
    if (bytes >= Math.min(size, chunkBytes)) return bytes;
    const expected = `undefined, or a level with room for ${Math.min(size, chunkBytes)} bytes of ${JSON.stringify(key)}`;
    throw configError(
      `policy ${policy.name}`,
      expected,
      room < 0 ? level : `${level}, with room for ${room}`,
    );
  }
}

/** Whether an object comes in several chunks. */
function isLarge({ size, chunkBytes }: FillObject): boolean {
  return size > chunkBytes;
}
