import { isTieredError, type DropReason, type PlacementHost, type Tier } from '@tiered/core';
import { BriefMap, configError, type Checksum, type OperationScope } from '@tiered/core/internal';
import type { ChunkSize } from '../source/chunk-size.js';
import type { Copies } from '../copies/copy-index.js';
import { isLasting, LastingCopies } from '../copies/lasting-copies.js';
import { LeftBehind } from './left-behind.js';
import { MakingRoom } from '../room/making-room.js';
import type { MemoryBudget } from '../source/memory-budget.js';
import { isCurrent, type FillFrom, type PlacingFailure } from './fill-parts.js';
import { Placing } from './object-fill.js';
import type { PlacementCandidate, PlacementPolicy, TierRoom } from '../policies/policy.js';
import type { SourceGate } from '../source/gate.js';
import type { SourceReads } from '../source/reads.js';
import type { Claim } from '../tier/tier-store.js';
import type { Writers } from './writers.js';

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
  readonly writers: Writers;
  readonly lanes: number;
  /** Whether readers wait for memory, rather than go on without it. */
  readonly readersWait: boolean;
  readonly tierReads: OperationScope;
  readonly closing: AbortSignal;
}

/**
 * Objects on their way at the same time: whoever reads beginnings and leaves could begin any number, and each costs a few KB
 * even before its first chunk.
 */
const MOST_AT_A_TIME = 16_384;
/** Objects of several chunks among them: each has a file open from its first chunk to its last. */
const MOST_FILES = 256;

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
  readonly #running = new BriefMap<number, Running>();
  /** Levels that cannot hold an object whatever room they have, as `level id`. */
  readonly #refused = new Set<string>();
  readonly #leftBehind: LeftBehind;
  /** Objects whose slower copy is being looked up, to be moved up. */
  readonly #promoting = new Map<number, Promise<void>>();
  readonly #lasting: LastingCopies;
  readonly #room: MakingRoom;
  /** Errors of tiers that were told of: all copies of one segment have the same. */
  readonly #told = new WeakSet<object>();
  /** Objects of several chunks that are on their way. */
  #large = 0;
  readonly counts = { placed: 0, declined: 0, behind: 0, failed: 0, evicted: 0, promoted: 0 };

  constructor(parts: PlacingsParts) {
    this.#parts = parts;
    const { host, copies, checksum, tierReads, budget, lanes, closing } = parts;
    this.#lasting = new LastingCopies(host, copies, checksum, tierReads);
    const start = (id: number) => this.tryToStart(id);
    this.#leftBehind = new LeftBehind({ budget, clock: host.clock, lanes, closing, start });
    this.#room = new MakingRoom({
      ...parts,
      lasting: this.#lasting,
      onEvicted: () => void (this.counts.evicted += 1),
      onFailed: (id, tier, error) => this.copyFailed(id, tier, error),
    });
  }

  get count(): number {
    return this.#running.size;
  }

  get underWay(): Promise<void>[] {
    const placings = this.#running.values().map(({ ended }) => ended);
    return [...placings, ...this.#promoting.values(), ...this.#leftBehind.underWay, ...this.#room.underWay];
  }

  /** Resolves when one of those under way has ended; at once if there is none. */
  async oneEnded(): Promise<void> {
    if (this.#running.size > 0) await Promise.race(this.#running.values().map(({ ended }) => ended));
  }

  /** The placing of an object that comes from the source. */
  of(id: number): Running | undefined {
    const running = this.#running.get(id);
    return running?.from === 'source' ? running : undefined;
  }

  /** Begins to place an object that is read, if the policy has a place for it, the level grants it, and the tiers are not behind. */
  start(id: number): Running | 'behind' | undefined {
    const { host } = this.#parts;
    // A copy that cannot be read at this moment is still a copy: it keeps its bytes, and is not made twice.
    if (host.namespace.levelOf(id) < host.tiers.length || this.#running.has(id)) return undefined;
    const running = this.tryToStart(id);
    if (running === undefined) this.counts.declined += 1;
    return running;
  }

  /** As `start`, of an object that nobody may be reading: counts nothing, and tells `'behind'` from having no place. */
  tryToStart(id: number): Running | 'behind' | undefined {
    const { host, copies, policy } = this.#parts;
    this.#leftBehind.delete(id);
    if (host.namespace.levelOf(id) < host.tiers.length || this.#running.has(id)) return undefined;
    // Whoever reads it next finds it gone, or not; there is nothing to do about it before.
    if (copies.isRemoving(id)) return 'behind';
    const object = this.#candidate(id);
    const level = object && policy.place(object, this.#rooms(id, object, host.tiers.length));
    if (object === undefined) return undefined;
    if (level === undefined) {
      this.#makeRoomFor(id, object);
      return undefined;
    }
    const bytes = this.#bytesFor(object, level);
    const faults = host.tiers[level]?.faults;
    const claim = this.#keepsUp(object, level, bytes) ? this.#claim(id, object, level, bytes) : undefined;
    if (claim !== undefined) return this.#begin(id, level, object, claim, this.#fillFromSource(id), 'source');
    // A tier that fails is not one that comes back soon.
    return host.tiers[level]?.faults === faults ? 'behind' : undefined;
  }

  /** Nobody waits until the tiers are not behind any more: the object is fetched in the background as soon as that is so. */
  leaveBehind(id: number): void {
    // Where copies leave, what is read decides which come, and not what was read a while ago.
    if (this.#parts.policy.evicts !== true) this.#leftBehind.add(id);
  }

  /** Whether another object may be begun: those on their way are not too many, and not stuck. */
  #keepsUp({ size, chunkBytes }: PlacementCandidate, level: number, bytes: number): boolean {
    const { budget, readersWait } = this.#parts;
    if (this.#running.size >= MOST_AT_A_TIME || budget.isStalled) return false;
    if (size > chunkBytes && this.#large >= MOST_FILES) return false;
    return readersWait || budget.hasRoom(this.#isBuffered(level) ? 2 * bytes : chunkBytes);
  }

  /** Whether a level keeps in memory what is written, until it is published: what is on its way counts twice then. */
  #isBuffered(level: number): boolean {
    return this.#parts.host.tiers[level]?.driver.capabilities.buffersWrites === true;
  }

  /** A tier served a read: the policy may want the object to move up, and to know what was read when. */
  hit(id: number, level: number): void {
    const { host, policy } = this.#parts;
    this.#room.touch(id, level);
    const trusted = host.namespace.directLevelOf(id) === level;
    if (policy.promote === undefined || level === 0 || !trusted || this.#running.has(id)) return;
    const object = this.#candidate(id);
    if (object === undefined || !this.#parts.budget.hasRoom(object.chunkBytes)) return;
    const rooms = this.#rooms(id, object, level).filter(({ freeBytes }) => freeBytes >= object.size);
    if (rooms.length === 0) return;
    const target = policy.promote({ ...object, level }, rooms);
    const from = host.tiers[level];
    if (target === undefined || from === undefined || !this.#keepsUp(object, target, object.size)) return;
    if (this.#promoting.has(id)) return;
    const promoting = this.#promote(id, from, target, object).finally(() => this.#promoting.delete(id));
    this.#promoting.set(id, promoting);
  }

  async #promote(id: number, from: Tier, target: number, object: PlacementCandidate): Promise<void> {
    const { host, budget, copies } = this.#parts;
    const copy = await this.#lasting.toVerify(id, from.level).catch(() => undefined);
    const hasMoved = host.namespace.levelOf(id) !== from.level || this.#running.has(id);
    if (copy === undefined || hasMoved || this.#parts.closing.aborted) return;
    // In the chunks of the copy, so that each is read once, and compared with its sum.
    const { chunkBytes } = copy;
    const rooms = this.#rooms(id, object, from.level);
    const hasRoom = rooms.some(({ level, freeBytes }) => level === target && freeBytes >= object.size);
    if (!hasRoom || !budget.canHold(chunkBytes) || !this.#keepsUp(object, target, object.size)) return;
    let claim = this.#claim(id, object, target, object.size);
    if (claim === undefined && copies.asked !== undefined) {
      await copies.asked;
      claim = this.#claim(id, object, target, object.size);
    }
    if (claim === undefined) return;
    const fill: FillFrom = (memory, offset, signal) => copy.into(memory, offset, signal);
    this.#begin(id, target, { ...object, chunkBytes }, claim, fill, from);
  }

  /** A copy was taken over: it may leave as well, in any order as long as it was not read. */
  adopted(id: number, level: number): void {
    this.#room.touch(id, level);
  }

  /** A level may grant again what it could not. */
  goOn(): void {
    this.#leftBehind.goOn();
  }

  /** The copy of an object must not be served any more. */
  lost(id: number, level: number, reason: DropReason): void {
    this.#lasting.drop(id, level, reason);
    this.#room.forget(id, level);
  }

  /** A tier failed to give what it has of an object. If that is damaged or gone it is dropped, and fetched anew when it is read. */
  copyFailed(id: number, tier: Tier, error: unknown): void {
    this.#parts.host.tierFault(tier, 'read', this.#parts.host.namespace.keyOf(id), error);
    if (isTieredError(error, 'TIERED_DATA_CORRUPT')) this.lost(id, tier.level, 'damaged');
    if (isTieredError(error, 'TIERED_NOT_FOUND')) this.lost(id, tier.level, 'missing');
  }

  /** The object, unless it is so large that not even a chunk of it fits into memory. */
  #candidate(id: number): PlacementCandidate | undefined {
    const { namespace } = this.#parts.host;
    const size = namespace.sizeOf(id);
    const chunkBytes = this.#parts.chunkSize.ofObject(size);
    return chunkBytes === undefined ? undefined : { key: namespace.keyOf(id), size, chunkBytes };
  }

  /** Levels faster than this one that accept the object now, and can without holding more in memory than may be. */
  #rooms(id: number, { size }: PlacementCandidate, below: number): TierRoom[] {
    const { host, copies, budget } = this.#parts;
    return host.tiers
      .slice(0, below)
      .filter(({ level, writing }) => writing.inService && !this.#refused.has(`${level} ${id}`))
      .filter(({ level }) => !this.#isBuffered(level) || budget.canHold(2 * size))
      .map(({ level }) => copies.storeAt(level))
      .map(({ tier: { level }, quotaBytes, freeBytes }) => ({ level, quotaBytes, freeBytes }));
  }

  /**
   * Bytes for all of an object, or for as much of it as fits.
   * @throws TieredError `TIERED_CONFIG_INVALID` for a level that the policy should not have chosen.
   */
  #bytesFor({ size, chunkBytes }: PlacementCandidate, level: number): number {
    const { host, copies, policy } = this.#parts;
    const room = host.tiers[level] === undefined ? -1 : copies.storeAt(level).freeBytes;
    // All the room that is left, and not a whole number of chunks: the end of a partial copy may be anywhere.
    const bytes = Math.min(size, room);
    if (bytes >= Math.min(size, chunkBytes)) return bytes;
    throw configError(
      `policy ${policy.name}`,
      `a level with room for ${chunkBytes} bytes, or undefined`,
      level,
    );
  }

  /** Undefined also if the level has room that first has to be asked for: the object is behind then. */
  #claim(
    id: number,
    { key, size, chunkBytes }: PlacementCandidate,
    level: number,
    bytes: number,
  ): Claim | undefined {
    const { host, copies } = this.#parts;
    const version = host.namespace.versionOf(id);
    const claim = copies.claim(level, { key, version, size, chunkBytes }, bytes);
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
    const version = this.#parts.host.namespace.versionOf(id);
    const placing = new Placing({ ...this.#parts, key, version, size, chunkBytes, claim, fill });
    const large = Number(size > chunkBytes);
    this.#large += large;
    const ended = placing.done.then(async (failure) => {
      this.#running.delete(id);
      this.#large -= large;
      await this.#end(id, level, placing, claim, failure, from);
      this.#leftBehind.goOn();
    });
    this.#running.set(id, { placing, from, ended });
    return { placing, from, ended };
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
    const { host, copies, closing } = this.#parts;
    const { tier } = copies.storeAt(level);
    if (failure !== undefined) {
      this.#failed(id, tier, claim, placing, failure);
      const isCopyServed = from !== 'source' && !closing.aborted && host.namespace.levelOf(id) === from.level;
      if (isCopyServed && failure.side === 'source') this.copyFailed(id, from, failure.error);
      return;
    }
    host.tierWorked(tier, 'write');
    const old = host.namespace.levelOf(id);
    const moved = from !== 'source' && old !== from.level;
    if (!isCurrent(host, id, placing) || moved) {
      // The object became another one meanwhile, or its copy went; the bytes stay claimed until they are gone.
      await copies.remove(claim.store, placing.copy);
      return;
    }
    if (!copies.placed(id, claim, placing.copy)) return;
    if (from === 'source') this.counts.placed += 1;
    else this.counts.promoted += 1;
    this.#room.touch(id, level, claim.bytes);
    host.placed(id, level, claim.bytes);
    // What other processes serve from, and the next start, stays beside a copy that is gone with this process.
    if (from !== 'source' && isLasting(tier)) copies.removeFrom(id, from.level);
    else if (from !== 'source') copies.cover(id);
    this.#room.on(level, 0);
  }

  #failed(id: number, tier: Tier, claim: Claim, { writtenBytes }: Placing, failure: PlacingFailure): void {
    const { host, copies, closing } = this.#parts;
    const [{ error, side }, { store }] = [failure, claim];
    const key = host.namespace.keyOf(id);
    const held = store.usedBytes + store.claimedBytes;
    void copies.release(claim, key);
    // If another process has it, the next read finds that.
    if (closing.aborted || isTieredError(error, 'TIERED_EXISTS')) return;
    this.counts.failed += 1;
    if (FAULTS_OF_THE_OBJECT.some((code) => isTieredError(error, code))) {
      this.#refused.add(`${tier.level} ${id}`);
    } else if (side === 'tier' && isTieredError(error, 'TIERED_NO_SPACE')) {
      // If all of it was written it is a directory, say, for which there was no room: some of it is to count as lost.
      store.shrink(held, claim.bytes - writtenBytes || claim.bytes);
      host.tierShrunk(tier, store.quotaBytes);
    } else if (side === 'tier' && !(isTieredError(error) && this.#told.has(error))) {
      if (isTieredError(error)) this.#told.add(error);
      host.tierFault(tier, 'write', key, error);
    }
    host.placementFailed(id, tier.level, error);
  }

  /** Lets go of what keeps an object from its place, where the policy lets copies go: the next one that is read finds room. */
  #makeRoomFor(id: number, object: PlacementCandidate): void {
    const { policy, host } = this.#parts;
    if (policy.evicts !== true) return;
    const empty = this.#rooms(id, object, host.tiers.length).map((room) => ({
      ...room,
      freeBytes: room.quotaBytes,
    }));
    const level = policy.place(object, empty);
    if (level !== undefined) this.#room.on(level, object.size);
  }

  #fillFromSource(id: number): FillFrom {
    const { host, source } = this.#parts;
    const asked = { key: host.namespace.keyOf(id), version: host.namespace.versionOf(id) };
    return (target, offset, signal, progress) => source.into(asked, target, offset, signal, progress);
  }
}
