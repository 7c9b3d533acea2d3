import { isTieredError, TieredError, type OperationOptions, type Tier } from '@tiered/core';
import type { PlacementHost } from '@tiered/core/placement';
import { ABSENT, copyName, identityOf, OperationScope, tagOf, type Checksum } from '@tiered/core/internal';
import { MARKER, Owner } from './owner.js';
import { OwnQuota } from '../own-quota.js';
import { readTrailer, trailerBytes, trailerOf } from './trailer.js';
import type { TierEvents } from '../../tier/tier-events.js';
import type { Candidate, Claim, Copy, CopyContent, TierStore } from '../../tier/tier-store.js';

/**
 * Milliseconds for which a check of the marker is valid. Another owner is noticed within this time, at one
 * request per check.
 */
const OWNED_FOR_MS = 5000;
/** Bytes that are reserved for the trailer of a copy. */
const FOR_TRAILER = 4096;
const TAG_BITS = 40;

/** Dependencies of `BucketStore`. */
export interface BucketStoreParts {
  readonly tier: Tier;
  readonly host: PlacementHost;
  readonly checksum: Checksum;
  readonly events: TierEvents;
}

/**
 * The store of a tier without an index: a bucket, or anything behind a prefix. One process uses it at a time,
 * see `Owner`.
 *
 * Copies outlive the process. Each describes itself (`trailer.ts`), and its name is derived from the object's
 * key and version, so a copy is found by its name. After each start, a background listing counts the bytes on
 * the storage; nothing is placed before it has ended.
 */
export class BucketStore implements TierStore {
  readonly asked = undefined;
  readonly #parts: BucketStoreParts;
  readonly #owner: Owner;
  readonly #dataset: string;
  readonly #scope = new OperationScope();
  /** Bytes of each copy, by tag. Complete once the storage was listed. */
  readonly #sizes = new Map<number, number>();
  /** Names of copies whose objects have changed or are unknown, by tag. */
  readonly #names = new Map<number, string>();
  /**
   * The number of copies that this process deleted. A copy that was not found may be one of them, and its
   * name may hold another copy by now.
   */
  #removed = 0;
  #isListed = false;
  #isLost = false;
  #ownedUntil: number;
  readonly #quota: OwnQuota;

  private constructor(parts: BucketStoreParts, owner: Owner) {
    this.#parts = parts;
    this.#owner = owner;
    this.#dataset = identityOf(parts.host.source);
    this.#quota = new OwnQuota(parts.tier.quotaBytes);
    this.#ownedUntil = parts.host.clock.now() + OWNED_FOR_MS;
  }

  /** @throws TieredError `TIERED_DIRECTORY_NOT_OURS` if the storage holds something else. */
  static async open(parts: BucketStoreParts, options: OperationOptions): Promise<BucketStore> {
    return new BucketStore(parts, await Owner.take(parts.tier, options));
  }

  get tier(): Tier {
    return this.#parts.tier;
  }

  get quotaBytes(): number {
    return this.#quota.bytes;
  }

  async leavingBytes(): Promise<number> {
    return 0;
  }

  get usedBytes(): number {
    return this.#quota.used;
  }

  get claimedBytes(): number {
    return this.#quota.claimed;
  }

  get freeBytes(): number {
    return this.#isListed ? Math.max(0, this.#quota.free - FOR_TRAILER) : 0;
  }

  get excessBytes(): number {
    return this.#quota.excess;
  }

  get current(): boolean {
    return !this.#isLost;
  }

  async isCurrent(): Promise<boolean> {
    return this.current;
  }

  get mayHoldMore(): boolean {
    return !this.#isListed || this.#sizes.size > 0;
  }

  claim(object: Candidate, bytes: number): Claim | 'later' | undefined {
    const { driver } = this.tier;
    const { key, version, size, chunkBytes } = object;
    const described = { dataset: this.#dataset, key, version, size, bytes, chunkBytes };
    const tailBytes = trailerBytes(described);
    const tag = this.#tagOf(key, version);
    const taken = bytes + tailBytes;
    if (!this.#isListed) return 'later';
    if (this.#sizes.has(tag) || taken > this.#quota.free) return undefined;
    const name = copyName(key, tag);
    const end = this.#quota.claim(taken);
    const trailer = ({ sums }: CopyContent) => trailerOf(described, sums, this.#parts.checksum);
    const placed = (content: CopyContent) => {
      end();
      this.#take(tag, taken);
      return { name, tag, key, version, bytes, content, tailBytes, dataset: this.#dataset };
    };
    return {
      store: this,
      name,
      bytes,
      write: async (data, content, { turn, signal }) => {
        await turn(async () => {
          await this.#assertOwned(signal);
          await driver.write(name, inOrder(data, trailer(content)), { size: taken, signal });
        });
        return placed(content);
      },
      create: (options) => driver.create(name, { size: taken, ...options }),
      readInto: (target, options) => driver.readInto(name, target, options),
      publish: async (writer, content, { turn, signal }) => {
        await turn(async () => {
          await this.#assertOwned(signal);
          await writer.writeAt(trailer(content), { offset: bytes, signal });
          await writer.publish({ signal });
        });
        return placed(content);
      },
      release: async () => {
        if (!this.#isLost) await driver.delete(name, {});
        end();
      },
    };
  }

  async find(key: string): Promise<readonly Copy[]> {
    const { namespace } = this.#parts.host;
    const id = namespace.find(key);
    if (id === ABSENT || this.#isLost) return [];
    const tag = this.#tagOf(key, namespace.versionOf(id));
    const name = copyName(key, tag);
    const size = this.#sizes.get(tag) ?? (this.#isListed ? undefined : await this.#sizeOf(name));
    if (size === undefined) return [];
    const copy = await this.#copyAt(key, name, tag, size);
    return copy === undefined ? [] : [copy];
  }

  /** Copies of this dataset that match no object at its known version. Found by listing the storage. */
  async *pages({ others = false } = {}): AsyncGenerator<readonly Copy[], void, undefined> {
    if (others) return;
    for (const [tag, size] of [...this.#sizes]) {
      const name = this.#names.get(tag);
      if (name === undefined) continue;
      this.#names.delete(tag);
      const copy = await this.#describe(name, tag, size).catch(() => undefined);
      if (copy?.dataset === this.#dataset) yield [copy];
    }
  }

  async remove({ name, tag }: Copy): Promise<void> {
    if (this.#isLost || tag === undefined) return;
    await this.tier.driver.delete(name, {});
    this.#removed += 1;
    this.#forget(tag);
  }

  shrink(held: number, lost: number): void {
    this.#quota.shrink(held, lost);
  }

  async close(): Promise<void> {
    await this.#scope.close(new Error('closed'));
  }

  /**
   * Lists the storage; nothing is placed before that has ended. An object that does not look like a copy is
   * never deleted.
   */
  async beginTakingOver(signal: AbortSignal): Promise<void> {
    const { namespace } = this.#parts.host;
    const expected = new Set<number>();
    for (let id = 0; id < namespace.count; id++)
      expected.add(this.#tagOf(namespace.keyOf(id), namespace.versionOf(id)));
    for await (const page of this.tier.driver.list({ signal })) {
      for (const { key: name, size } of page) {
        const tag = name === MARKER ? undefined : tagOf(name);
        if (tag === undefined) continue;
        if (!this.#sizes.has(tag)) this.#take(tag, size);
        if (!expected.has(tag)) this.#names.set(tag, name);
      }
    }
    this.#isListed = true;
  }

  async endTakingOver(): Promise<void> {
    // Unknown objects are never deleted.
  }

  /**
   * The tag is derived from the key and the version, so names need not be kept. Another version has another
   * tag.
   */
  #tagOf(key: string, version: string): number {
    const { checksum, host } = this.#parts;
    const known = host.versions === 'ignore' ? '' : version;
    const text = Buffer.from(JSON.stringify([this.#dataset, key, known]));
    return Number(BigInt.asUintN(TAG_BITS, checksum.bytes(text)));
  }

  /**
   * Looks up a copy. Its content is undefined if its description of itself is wrong. Returns undefined if the
   * copy is gone.
   */
  async #copyAt(key: string, name: string, tag: number, size: number): Promise<Copy | undefined> {
    const unknown = { name, tag, key, version: '', dataset: this.#dataset, bytes: size, content: undefined };
    try {
      const copy = await this.#describe(name, tag, size);
      return copy.key === key && copy.dataset === this.#dataset ? copy : unknown;
    } catch (error) {
      if (isTieredError(error, 'TIERED_DATA_CORRUPT')) return unknown;
      if (isTieredError(error, 'TIERED_NOT_FOUND')) return undefined;
      throw error;
    }
  }

  async #describe(name: string, tag: number, size: number): Promise<Copy> {
    const { driver } = this.tier;
    const read = () => readTrailer(driver, name, size, this.#parts.checksum);
    const removed = this.#removed;
    const described = await this.#scope.run(undefined, read).catch((error: unknown) => {
      // Another process or a bucket rule deleted the copy. Its bytes are free, and its object is placed again
      // when it is read.
      if (isTieredError(error, 'TIERED_NOT_FOUND') && this.#removed === removed) this.#forget(tag);
      throw error;
    });
    const { dataset, key, version, ...content } = described;
    return {
      name,
      tag,
      dataset,
      key,
      version,
      bytes: content.bytes,
      content,
      tailBytes: size - content.bytes,
    };
  }

  async #sizeOf(name: string): Promise<number | undefined> {
    const { driver } = this.tier;
    const stat = this.#scope.run(undefined, (signal) => driver.stat(name, { signal }));
    return stat.then(
      ({ size }) => size,
      () => undefined,
    );
  }

  #take(tag: number, bytes: number): void {
    this.#sizes.set(tag, bytes);
    this.#quota.used += bytes;
  }

  #forget(tag: number): void {
    this.#quota.used -= this.#sizes.get(tag) ?? 0;
    this.#sizes.delete(tag);
  }

  async #assertOwned(signal: AbortSignal | undefined): Promise<void> {
    const { host, events } = this.#parts;
    if (!this.#isLost && host.clock.now() < this.#ownedUntil) return;
    if (!this.#isLost && (await this.#owner.isStill({ signal }))) {
      this.#ownedUntil = host.clock.now() + OWNED_FOR_MS;
      return;
    }
    if (!this.#isLost) events.emit('taken', this.tier.level);
    this.#isLost = true;
    throw takenOverError(this.tier);
  }
}

/** In pieces, because no memory was reserved for one piece with both. */
async function* inOrder(...pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void, undefined> {
  yield* pieces;
}

function takenOverError({ driver }: Tier): TieredError {
  return new TieredError(
    'TIERED_UNAVAILABLE',
    `${driver.name}: another process uses this tier now, and storage without an index is one process's at a time; ` +
      'give each process a prefix of its own, or share a directory.',
    { driver: driver.name, operation: 'publish' },
  );
}
