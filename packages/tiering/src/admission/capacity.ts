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
 * Maximum number of objects in flight. Readers that read the beginning of an object and leave could begin any
 * number, and each costs a few KB even before its first chunk.
 */
const MOST_AT_A_TIME = 16_384;
/**
 * Maximum number of objects with several chunks among them. Each has a file open from its first chunk to its
 * last.
 */
const MOST_FILES = 256;

/** Everything that limits placements. */
export interface CapacityParts {
  readonly host: PlacementHost;
  readonly policy: PlacementPolicy;
  readonly copies: CopyIndex;
  readonly budget: MemoryBudget;
  readonly chunkSize: ChunkSize;
  readonly failures: FillFailures;
  /** The bounds on what this handler may place on shared levels. */
  readonly holds: Holds;
  /** Whether readers wait for memory, rather than continue without it. */
  readonly readersWait: boolean;
}

/** The room for placements now, given the levels, the memory and the number of open files. */
export class Capacity {
  readonly #parts: CapacityParts;
  /** Objects in flight, and those of several chunks among them. */
  #underWay = 0;
  #large = 0;

  constructor(parts: CapacityParts) {
    this.#parts = parts;
  }

  /** Counts an object as in flight until `end` is called with it. */
  begin(object: FillObject): void {
    this.#underWay += 1;
    if (isLarge(object)) this.#large += 1;
  }

  /** See `begin`. */
  end(object: FillObject): void {
    this.#underWay -= 1;
    if (isLarge(object)) this.#large -= 1;
  }

  /** Whether another object may begin: not too many are in flight, and they are not stalled. */
  keepsUp(object: FillObject, level: number, bytes: number): boolean {
    const { budget, readersWait } = this.#parts;
    if (this.#underWay >= MOST_AT_A_TIME || budget.isStalled) return false;
    if (isLarge(object) && this.#large >= MOST_FILES) return false;
    return readersWait || budget.hasRoom(this.#isBuffered(level) ? 2 * bytes : object.chunkBytes);
  }

  /** Whether a level buffers writes in memory until they are published. Bytes in flight then count twice. */
  #isBuffered(level: number): boolean {
    return this.#parts.host.tiers[level]?.driver.capabilities.buffersWrites === true;
  }

  /** The object, unless it is gone, or even one of its chunks does not fit into memory. */
  candidate(object: ObjectRef): FillObject | undefined {
    if (!this.#parts.host.namespace.isKnown(object.id)) return undefined;
    const chunkBytes = this.#parts.chunkSize.ofObject(object.size);
    return chunkBytes === undefined ? undefined : { ...object, chunkBytes };
  }

  /** Levels faster than `below` that accept the object now without exceeding the memory limit. */
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

  /** Bytes of the largest copy that a level admits. */
  freeBytes(level: number): number {
    const { copies, holds } = this.#parts;
    return Math.max(0, Math.min(copies.stores.at(level).freeBytes, holds.roomOn(level)));
  }

  /**
   * Bytes of the copy: the whole object, or as much of it as fits.
   * @throws TieredError `TIERED_CONFIG_INVALID` if the policy should not have chosen this level.
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

/** Whether an object has several chunks. */
function isLarge({ size, chunkBytes }: FillObject): boolean {
  return size > chunkBytes;
}
