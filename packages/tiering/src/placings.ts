import { isTieredError, TieredError, type PlacementHost, type Tier } from '@tiered/core';
import { configError, type Checksum, type OperationScope } from '@tiered/core/internal';
import type { LimitFunction } from 'p-limit';
import type { ChunkSize } from './chunk-size.js';
import type { Copies } from './copies.js';
import type { MemoryBudget } from './memory-budget.js';
import { Placing, type FillFrom, type PlacingFailure } from './placing.js';
import type { PlacementCandidate, PlacementPolicy, TierRoom } from './policies/policy.js';
import { Recency } from './recency.js';
import type { SourceGate } from './source-gate.js';
import type { SourceReads } from './source-reads.js';
import type { Claim } from './store/tier-store.js';

/** What placings are made with. */
export interface PlacingsParts {
  readonly host: PlacementHost;
  readonly policy: PlacementPolicy;
  readonly copies: Copies;
  readonly source: SourceReads;
  readonly gate: SourceGate;
  readonly budget: MemoryBudget;
  readonly checksum: Checksum;
  readonly chunkSize: ChunkSize;
  readonly writes: LimitFunction;
  readonly lanes: number;
  readonly tierReads: OperationScope;
  readonly closing: AbortSignal;
}

/** Objects on their way at the same time: each may have a file open. */
export const MOST_AT_A_TIME = 256;

/** Faults of an object, not of the tier: no other object would meet them. */
const FAULTS_OF_THE_OBJECT = ['TIERED_KEY_INVALID', 'TIERED_KEY_CONFLICT'] as const;

/** A placing that has not ended. */
export interface Running {
  readonly placing: Placing;
  /** From the source, or from the tier that has the copy now. */
  readonly from: 'source' | Tier;
  /** Resolves when it has ended, and what it brought is served. */
  readonly ended: Promise<void>;
}

/** Decides which objects are placed where, and sees every placing to its end. */
export class Placings {
  readonly #parts: PlacingsParts;
  readonly #running = new Map<number, Running>();
  readonly #recency: readonly Recency[];
  /** Levels that cannot hold an object whatever room they have, as `level id`. */
  readonly #refused = new Set<string>();
  readonly counts = { placed: 0, declined: 0, failed: 0, evicted: 0, promoted: 0 };

  constructor(parts: PlacingsParts) {
    this.#parts = parts;
    this.#recency = parts.host.tiers.map(() => new Recency());
    if (parts.policy.evicts === true) this.#knowCopies();
  }

  get count(): number {
    return this.#running.size;
  }

  get underWay(): Promise<void>[] {
    return [...this.#running.values()].map(({ ended }) => ended);
  }

  /** Whether there is no memory for another one now, or too many are under way. */
  get isBusy(): boolean {
    const { budget, chunkSize } = this.#parts;
    const busy = this.#running.size >= MOST_AT_A_TIME || !budget.hasRoom(chunkSize.bytes);
    return busy && this.#running.size > 0;
  }

  oneEnded(): Promise<void> {
    return Promise.race(this.underWay);
  }

  /** The placing of an object that comes from the source. */
  of(id: number): Running | undefined {
    const running = this.#running.get(id);
    return running?.from === 'source' ? running : undefined;
  }

  /** Begins to place an object, if the policy has a place for it, the level grants it, and there is memory. */
  start(id: number): Running | undefined {
    const { host, copies, source } = this.#parts;
    // A copy that cannot be read at this moment is still a copy: it keeps its bytes, and is not made twice.
    if (host.namespace.levelOf(id) < host.tiers.length || this.#running.has(id)) return undefined;
    if (!copies.isRemoving(id) && !this.isBusy) {
      const object = this.#candidate(id);
      const level = object && this.#parts.policy.place(object, this.#rooms(id, host.tiers.length));
      const claim = object && level !== undefined ? this.#claim(id, object, level) : undefined;
      if (object !== undefined && level !== undefined && claim !== undefined) {
        const asked = { key: object.key, version: host.namespace.versionOf(id) };
        const fill: FillFrom = (target, offset, signal) => source.into(asked, target, offset, signal);
        return this.#begin(id, level, object, claim, fill, 'source');
      }
    }
    this.counts.declined += 1;
    return undefined;
  }

  /** A tier served a read: the policy may want the object to move up, and to know what was read when. */
  hit(id: number, level: number): void {
    const { host, policy } = this.#parts;
    if (policy.evicts === true) this.#recency[level]?.touch(id, host.namespace.sizeOf(id));
    const trusted = host.namespace.directLevelOf(id) === level;
    if (policy.promote === undefined || level === 0 || !trusted || this.#running.has(id) || this.isBusy)
      return;
    const object = this.#candidate(id);
    if (object === undefined) return;
    const rooms = this.#rooms(id, level).filter(({ freeBytes }) => freeBytes >= object.size);
    if (rooms.length === 0) return;
    const target = policy.promote({ ...object, level }, rooms);
    const from = host.tiers[level];
    const claim = target === undefined ? undefined : this.#claim(id, object, target);
    if (target === undefined || claim === undefined || from === undefined) return;
    this.#begin(id, target, object, claim, this.#fillFromTier(id, from), from);
  }

  /** The copy of an object has gone. */
  forget(id: number, level: number): void {
    this.#recency[level]?.forget(id);
  }

  /** Copies of an earlier process may leave as well, in any order as long as they were not read. */
  #knowCopies(): void {
    const { namespace } = this.#parts.host;
    for (let id = 0; id < namespace.count; id++) {
      this.#recency[namespace.levelOf(id)]?.touch(id, namespace.sizeOf(id));
    }
  }

  /** The object, unless it is so large that not even a chunk of it fits into memory. */
  #candidate(id: number): PlacementCandidate | undefined {
    const { namespace } = this.#parts.host;
    const size = namespace.sizeOf(id);
    const chunkBytes = this.#parts.chunkSize.ofObject(size);
    return chunkBytes === undefined ? undefined : { key: namespace.keyOf(id), size, chunkBytes };
  }

  /** Levels faster than this one that accept the object now. */
  #rooms(id: number, below: number): TierRoom[] {
    const { host, copies } = this.#parts;
    return host.tiers
      .slice(0, below)
      .filter(({ level, writing }) => writing.inService && !this.#refused.has(`${level} ${id}`))
      .map(({ level }) => copies.storeAt(level))
      .map(({ tier: { level }, quotaBytes, freeBytes }) => ({ level, quotaBytes, freeBytes }));
  }

  /** Bytes for all of an object, or for as much of it as fits. */
  #claim(id: number, { key, size, chunkBytes }: PlacementCandidate, level: number): Claim | undefined {
    const { host, copies, policy } = this.#parts;
    const room = host.tiers[level] === undefined ? -1 : copies.storeAt(level).freeBytes;
    // All the room that is left, and not a whole number of chunks: the end of a partial copy may be anywhere.
    const bytes = Math.min(size, room);
    if (bytes < Math.min(size, chunkBytes)) {
      throw configError(
        `policy ${policy.name}`,
        `a level with room for ${chunkBytes} bytes, or undefined`,
        level,
      );
    }
    const object = { key, version: host.namespace.versionOf(id), size, chunkBytes };
    const claim = copies.claim(level, object, bytes);
    return claim === 'later' ? undefined : claim;
  }

  #begin(
    id: number,
    level: number,
    { key, size, chunkBytes }: PlacementCandidate,
    claim: Claim,
    fill: FillFrom,
    from: 'source' | Tier,
  ): Running {
    const { host, gate, writes, budget, checksum, lanes, tierReads, closing } = this.#parts;
    const version = host.namespace.versionOf(id);
    const object = { key, version, size, chunkBytes, claim, fill };
    const placing = new Placing({ ...object, gate, writes, budget, checksum, lanes, tierReads, closing });
    const ended = placing.done.then(async (failure) => {
      this.#running.delete(id);
      await this.#end(id, level, placing, claim, failure, from);
    });
    const running = { placing, from, ended };
    this.#running.set(id, running);
    return running;
  }

  /** Serves what was placed, or clears up what was not. Never rejects: what cannot be placed costs speed, not data. */
  async #end(
    id: number,
    level: number,
    placing: Placing,
    claim: Claim,
    failure: PlacingFailure | undefined,
    from: 'source' | Tier,
  ): Promise<void> {
    const { host, copies } = this.#parts;
    const { tier } = copies.storeAt(level);
    if (failure !== undefined) {
      this.#failed(id, tier, claim, placing, failure);
      return;
    }
    host.tierWorked(tier, 'write');
    const old = host.namespace.levelOf(id);
    const moved = from !== 'source' && old !== from.level;
    if (host.namespace.versionOf(id) !== placing.version || moved) {
      // The object became another one meanwhile, or its copy went; the bytes stay claimed until they are gone.
      await copies.remove(claim.store, placing.copy);
      return;
    }
    if (!copies.placed(id, claim, placing.copy)) return;
    if (from === 'source') this.counts.placed += 1;
    else this.counts.promoted += 1;
    if (this.#parts.policy.evicts === true) this.#recency[level]?.touch(id, claim.bytes);
    host.placed(id, level, claim.bytes);
    if (from !== 'source') copies.removeFrom(id, from.level);
    this.#makeRoom(level);
  }

  #failed(id: number, tier: Tier, claim: Claim, { writtenBytes }: Placing, failure: PlacingFailure): void {
    const { host, copies, closing } = this.#parts;
    const { error, side } = failure;
    const { store } = claim;
    const key = host.namespace.keyOf(id);
    const held = store.usedBytes + store.claimedBytes;
    void copies.release(claim, key);
    // Another process has it: the next read finds that.
    if (closing.aborted || isTieredError(error, 'TIERED_EXISTS')) return;
    this.counts.failed += 1;
    if (FAULTS_OF_THE_OBJECT.some((code) => isTieredError(error, code))) {
      this.#refused.add(`${tier.level} ${id}`);
    } else if (side === 'tier' && isTieredError(error, 'TIERED_NO_SPACE')) {
      // If all of it was written it is a directory, say, for which there was no room: some of it is to count as lost.
      const lost = claim.bytes - writtenBytes;
      copies.shrink(store, held, lost > 0 ? lost : claim.bytes);
    } else if (side === 'tier') host.tierFault(tier, 'write', key, error);
    host.placementFailed(id, tier.level, error);
  }

  /** Keeps room on a level for one more object, where the policy lets objects go. */
  #makeRoom(level: number): void {
    const { policy, copies, host } = this.#parts;
    const recency = this.#recency[level];
    if (policy.evicts !== true || recency === undefined) return;
    let free = copies.storeAt(level).freeBytes + copies.bytesLeaving(level);
    while (free < recency.largest) {
      const oldest = recency.oldest();
      if (oldest === undefined) return;
      if (host.namespace.levelOf(oldest.id) !== level) continue;
      free += oldest.bytes;
      this.counts.evicted += 1;
      copies.drop(oldest.id, level, 'evicted');
    }
  }

  #fillFromTier(id: number, tier: Tier): FillFrom {
    const { host } = this.#parts;
    return async (target, offset, signal) => {
      const name = host.namespace.levelOf(id) === tier.level ? host.nameOf(id) : undefined;
      const count = name === undefined ? 0 : await tier.driver.readInto(name, target, { offset, signal });
      if (count === target.byteLength) return;
      const key = host.namespace.keyOf(id);
      const message = `${tier.driver.name}: the copy of ${JSON.stringify(key)} went while it was being moved up.`;
      throw new TieredError('TIERED_NOT_FOUND', message, {
        driver: tier.driver.name,
        operation: 'read',
        key,
      });
    };
  }
}
