import type { StorageDriver, TierLayout } from '@tiered/core';
import { copyName, existingAt } from '@tiered/core/internal';
import { statfs } from 'node:fs/promises';
import { trailerBytes } from '../store/bucket/trailer.js';
import { logRoomOf } from '../index/open-index.js';
import { PAGE_BYTES } from '../index/thread/schema.js';
import { packedBytes, rewritingRoom } from '../store/packed/packing.js';
import { OWN_DIRECTORIES } from '../store/shared/accounts.js';
import { Lease } from '../store/shared/lease.js';

/** A tier to compute the space of, such as one of `Hierarchy.tiers`. */
export interface SpaceOptions {
  readonly driver: Pick<StorageDriver, 'capabilities' | 'location'>;
  /** Bytes. */
  readonly quotaBytes: number;
  /** Default: `files`. */
  readonly layout?: TierLayout | undefined;
}

/** An object that may get a copy. */
export interface SpaceObject {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  readonly version: string;
}

/**
 * Objects that are placed at the same time, the default of `placeInOrder`: this many may claim the same
 * directories, and a segment has at least this many small copies.
 */
const AT_A_TIME = 6;
/**
 * Bytes of a new index: the first page of each of its tables and indexes, and the shared memory of its log.
 */
const NEW_INDEX_BYTES = 11 * PAGE_BYTES + 32 * 1024;
/** Bytes of a row besides its key, version and sums: header, numbers and its place in the page. */
const ROW_BYTES = 48;
/** The fill factor of pages in an index whose rows come in any order. */
const PAGE_FILL = 0.66;
/** The smallest chunk, unless a configuration says otherwise. Each chunk has a sum. */
const CHUNK_BYTES = 2 ** 20;
const SUM_BYTES = 8;
/** Assumed if a file system does not say. */
const USUAL_BLOCK_BYTES = 4096;
/** Stands for the name of the dataset, which the trailer of a copy in a bucket repeats. */
const DATASET = 'x'.repeat(64);

/**
 * Counts the bytes that objects take on a tier: the one count for plans, and for all other estimates of what
 * fits. It counts as tiers do: whole blocks, or the bytes in a segment if copies are packed; the directories
 * above a copy, each once; the row in the index, the index itself and the room for its log; and the bytes
 * that a tier never grants. In memory only the object's bytes count, in a bucket also the trailer. Rows and
 * pages are estimates on the high side: there is usually a little more room.
 *
 * It remembers the directories that it has counted. It does not know of other datasets on the tier.
 */
export class TierSpace {
  readonly quotaBytes: number;
  readonly #options: SpaceOptions;
  readonly #blockBytes: number;
  /** Counts blocks as a tier does. Undefined for a tier without an index. */
  readonly #lease: Lease | undefined;
  readonly #directories = new Set<string>();
  /** Directories above the deepest copy. */
  #deepest = 0;
  #taken: number;

  /** @internal Made by `tierSpaces`. */
  constructor(options: SpaceOptions, blockBytes: number) {
    const { driver, quotaBytes, layout } = options;
    this.quotaBytes = quotaBytes;
    this.#options = options;
    this.#blockBytes = blockBytes;
    if (!driver.capabilities.index) {
      this.#taken = 0;
      return;
    }
    const lease = new Lease(quotaBytes, blockBytes);
    this.#lease = lease;
    const rewriting = layout === 'packed' ? rewritingRoom(quotaBytes) : 0;
    // A copy is admitted only with room for some directories above it, whether it needs them or not.
    const whole = quotaBytes - lease.largest(quotaBytes);
    this.#taken =
      lease.hold + whole + logRoomOf(quotaBytes) + NEW_INDEX_BYTES + OWN_DIRECTORIES * blockBytes + rewriting;
  }

  /** Bytes that are left for copies, at least 0. */
  get freeBytes(): number {
    return Math.max(0, this.quotaBytes - this.#taken - AT_A_TIME * this.#deepest * this.#blockBytes);
  }

  /** Bytes that a copy of an object takes, including directories above it that were not counted yet. */
  occupied(object: SpaceObject): number {
    const { key, size, version } = object;
    const { driver, layout } = this.#options;
    if (this.#lease === undefined) {
      if (driver.location === undefined) return size;
      const described = { dataset: DATASET, key, version, size, bytes: size, chunkBytes: CHUNK_BYTES };
      return size + trailerBytes(described);
    }
    const packed = layout === 'packed' ? packedBytes(size) : undefined;
    if (packed === undefined) {
      const made = this.#missing(key).length * this.#blockBytes;
      return this.#lease.occupied(size) + made + Math.ceil(rowBytes(object) / PAGE_FILL);
    }
    // Its row is in two tables, and its segment has one as well.
    const rows = rowBytes(object) + Buffer.byteLength(key) + ROW_BYTES / 2 + (2 * ROW_BYTES) / AT_A_TIME;
    return Math.ceil(this.#lease.occupied(AT_A_TIME * packed) / AT_A_TIME + rows / PAGE_FILL);
  }

  /** Counts a copy of an object, if it fits. Returns whether it does. */
  take(object: SpaceObject): boolean {
    const bytes = this.occupied(object);
    const isFile = this.#lease !== undefined && !this.#isPacked(object);
    const deepest = isFile ? Math.max(this.#deepest, above(object.key).length) : this.#deepest;
    const claimed = AT_A_TIME * deepest * this.#blockBytes;
    if (this.#taken + bytes + claimed > this.quotaBytes) return false;
    this.#taken += bytes;
    this.#deepest = deepest;
    if (isFile) for (const directory of this.#missing(object.key)) this.#directories.add(directory);
    return true;
  }

  #isPacked({ size }: SpaceObject): boolean {
    return this.#options.layout === 'packed' && packedBytes(size) !== undefined;
  }

  #missing(key: string): string[] {
    return above(key).filter((directory) => !this.#directories.has(directory));
  }
}

/**
 * Makes the spaces of tiers, which need not be open. Asks each file system for its block size, at the nearest
 * existing parent of a directory that does not exist yet.
 */
export function tierSpaces(tiers: readonly SpaceOptions[]): Promise<TierSpace[]> {
  return Promise.all(tiers.map(async (tier) => new TierSpace(tier, await blockBytesOf(tier))));
}

async function blockBytesOf({ driver: { location } }: SpaceOptions): Promise<number> {
  if (location?.startsWith('file://') !== true) return USUAL_BLOCK_BYTES;
  const existing = existingAt(location.slice('file://'.length));
  const found = await existing.then((at) => statfs(at)).catch(() => undefined);
  return Math.max(1, found?.bsize ?? USUAL_BLOCK_BYTES);
}

/** The directories above a copy. */
function above(key: string): string[] {
  if (!key.includes('/') && key.length < 100) return [];
  const names = copyName(key, 0).split('/').slice(0, -1);
  return names.map((_, i) => names.slice(0, i + 1).join('/'));
}

function rowBytes({ key, size, version }: SpaceObject): number {
  const sums = Math.max(1, Math.ceil(size / CHUNK_BYTES)) * SUM_BYTES;
  return Buffer.byteLength(key) + Buffer.byteLength(version) + sums + ROW_BYTES;
}
