import { isTieredError, type DropReason, type Tier } from '@tiered/core';
import type { ObjectRef, PlacementHost } from '@tiered/core/placement';
import { placeChannel, type PlaceCause, type PlaceOutcome } from '@tiered/core/tracing';
import { BriefMap, type Checksum, type OperationScope } from '@tiered/core/internal';
import type { CopyIndex } from '../ledger/copy-index.js';
import { isLasting } from '../ledger/tier-stores.js';
import type { PlacementPolicy } from '../policies/policy.js';
import { MakingRoom } from './making-room.js';
import type { ChunkSize } from '../source/chunk-size.js';
import type { SourceGate } from '../source/gate.js';
import type { MemoryBudget } from '../memory/memory-budget.js';
import type { SourceReads } from '../source/reads.js';
import type { TierEvents } from '../tier/tier-events.js';
import { OtherFetch, type FetchTurn } from '../tier/fetch-turns.js';
import type { Claim } from '../tier/tier-store.js';
import { TracedFill, type Begun } from './begun.js';
import { Capacity } from './capacity.js';
import { FillFailures } from './fill-failures.js';
import type { Holds } from './holds.js';
import { isCurrent, type BringBytes, type FillFailure, type FillObject } from '../fill/fill-parts.js';
import { LeftBehind } from './left-behind.js';
import { ObjectFill } from '../fill/object-fill.js';
import type { Writers } from '../memory/writers.js';

/** Dependencies of `Fills`. */
export interface FillsParts {
  readonly host: PlacementHost;
  readonly policy: PlacementPolicy;
  readonly copies: CopyIndex;
  readonly events: TierEvents;
  readonly source: SourceReads;
  readonly gate: SourceGate;
  readonly budget: MemoryBudget;
  readonly checksum: Checksum;
  readonly chunkSize: ChunkSize;
  readonly writers: Writers;
  readonly lanes: number;
  /** Whether readers wait for memory, rather than continue without it. */
  readonly readersWait: boolean;
  readonly tierReads: OperationScope;
  readonly holds: Holds;
  readonly closing: AbortSignal;
}

/** A fill in progress. */
export interface Running {
  readonly fill: ObjectFill;
  /** The origin of the bytes: the source, or the tier that has the copy now. */
  readonly from: 'source' | Tier;
  /** Resolves to the outcome once the fill has ended and its copy is served. Does not reject. */
  readonly outcome: Promise<PlaceOutcome>;
}

/** Decides where objects are placed, and follows every fill to its end. */
export class Fills {
  readonly #parts: FillsParts;
  readonly #running = new BriefMap<number, Running>();
  readonly #leftBehind: LeftBehind;
  /** Objects whose slower copy is being looked up for promotion. */
  readonly #promoting = new Map<number, Promise<void>>();
  readonly #room: MakingRoom;
  readonly #failures: FillFailures;
  readonly #capacity: Capacity;
  readonly counts = { placed: 0, declined: 0, behind: 0, failed: 0, evicted: 0, promoted: 0 };

  constructor(parts: FillsParts) {
    this.#parts = parts;
    const { host, budget, lanes, closing } = parts;
    const start = (id: number) => {
      const begun = this.tryToStart(host.namespace.objectOf(id), 'behind');
      // The other process places it.
      return begun instanceof OtherFetch ? undefined : begun;
    };
    this.#leftBehind = new LeftBehind({ budget, clock: host.clock, lanes, closing, start });
    this.#failures = new FillFailures({ ...parts, counts: this.counts });
    this.#capacity = new Capacity({ ...parts, failures: this.#failures });
    this.#room = new MakingRoom({
      ...parts,
      onEvicted: () => void (this.counts.evicted += 1),
      onFailed: (object, tier, error) => this.copyFailed(object, tier, error),
    });
    parts.events.on('room', () => this.#leftBehind.goOn());
    // An adopted copy may be evicted as well, in any order as long as it was not read.
    parts.events.on('adopted', (level, id) => this.#room.touch(id, level));
  }

  get count(): number {
    return this.#running.size;
  }

  get underWay(): Promise<unknown>[] {
    const fills = this.#running.values().map(({ outcome }) => outcome);
    return [...fills, ...this.#promoting.values(), ...this.#leftBehind.underWay, ...this.#room.underWay];
  }

  /** Resolves when one of the fills in progress has ended; at once if there is none. */
  async oneEnded(): Promise<void> {
    if (this.#running.size > 0) await Promise.race(this.#running.values().map(({ outcome }) => outcome));
  }

  /** The fill that fetches an object from the source. */
  of(id: number): Running | undefined {
    const running = this.#running.get(id);
    return running?.from === 'source' ? running : undefined;
  }

  /**
   * Begins to place an object that is being read, if the policy chooses a level, the level grants the bytes,
   * and the tiers are not behind.
   * @param turn The turn that `turnFor` returned.
   */
  start(object: ObjectRef, turn?: FetchTurn): Running | OtherFetch | 'behind' | undefined {
    // A copy that cannot be read now is still a copy: it keeps its bytes, and is not made twice.
    if (this.#hasCopy(object.id)) {
      turn?.end();
      return undefined;
    }
    const running = this.tryToStart(object, 'read', turn);
    if (running === undefined) this.counts.declined += 1;
    return running;
  }

  /**
   * Takes the turn to fetch an object for the tier that it would be placed on, if other processes fill that
   * tier too. Must be taken before the lookup of their copies. Undefined if no turn is needed.
   */
  turnFor(object: ObjectRef): FetchTurn | OtherFetch | undefined {
    const { host, copies, policy } = this.#parts;
    if (!copies.stores.haveTurns || this.#hasCopy(object.id)) return undefined;
    const candidate = this.#capacity.candidate(object);
    if (candidate === undefined) return undefined;
    const level = policy.place(candidate, this.#capacity.rooms(candidate, host.tiers.length));
    return level === undefined ? undefined : copies.stores.at(level).fetching?.(candidate);
  }

  /**
   * As `start`, for an object that may have no reader. Counts nothing. Returns `'behind'` if room is missing
   * only for now, undefined if no level takes the object, or the fetch of another process that brings it.
   */
  tryToStart(
    object: ObjectRef,
    cause: PlaceCause,
    turn?: FetchTurn,
  ): Running | OtherFetch | 'behind' | undefined {
    let isBegun = false;
    try {
      const begun = this.#tryToStart(object, cause, turn);
      isBegun = begun !== undefined && begun !== 'behind' && !(begun instanceof OtherFetch);
      return begun;
    } finally {
      // Also if the policy throws.
      if (!isBegun) turn?.end();
    }
  }

  #tryToStart(
    object: ObjectRef,
    cause: PlaceCause,
    turn: FetchTurn | undefined,
  ): Running | OtherFetch | 'behind' | undefined {
    const { host, copies, policy } = this.#parts;
    this.#leftBehind.delete(object.id);
    if (this.#hasCopy(object.id)) return undefined;
    // Nothing can be done until the copy is gone, which the next read of the object notices.
    if (copies.removals.isUnderWay(object.key)) return 'behind';
    const candidate = this.#capacity.candidate(object);
    if (candidate === undefined) return undefined;
    const level = policy.place(candidate, this.#capacity.rooms(candidate, host.tiers.length));
    if (level !== undefined) return this.#tryLevel(candidate, level, cause, turn);
    this.#makeRoomFor(candidate);
    return undefined;
  }

  #tryLevel(
    object: FillObject,
    level: number,
    cause: PlaceCause,
    given: FetchTurn | undefined,
  ): Running | OtherFetch | 'behind' | undefined {
    const { host, copies } = this.#parts;
    const bytes = this.#capacity.bytesFor(object, level);
    const faults = host.tiers[level]?.faults;
    if (this.#capacity.keepsUp(object, level, bytes)) {
      // Before the claim, which would keep the other process's claim out of the index.
      const turn = given ?? copies.stores.at(level).fetching?.(object);
      if (turn instanceof OtherFetch) return turn;
      const claim = this.#claim(object, level, bytes);
      const bring = this.#fromSource(object);
      if (claim !== undefined)
        return this.#begin({ object, level, claim, bring, from: 'source', cause, turn });
      turn?.end();
    }
    // A tier that failed does not recover soon.
    return host.tiers[level]?.faults === faults ? 'behind' : undefined;
  }

  /**
   * Leaves an object without a copy for now, because the tiers are behind. It is fetched in the background
   * once they have caught up.
   */
  leaveBehind(id: number): void {
    // If copies are evicted, present reads decide which copies to make, not past ones.
    if (this.#parts.policy.evicts !== true) this.#leftBehind.add(id);
  }

  /** Whether an object has a copy, or is about to have one. */
  #hasCopy(id: number): boolean {
    const { namespace, tiers } = this.#parts.host;
    return namespace.levelOf(id) < tiers.length || this.#running.has(id);
  }

  /** Called when a tier served a read. The policy may promote the object, and needs the order of reads. */
  hit(id: number, level: number): void {
    const { host, policy } = this.#parts;
    this.#room.touch(id, level);
    const trusted = host.namespace.directLevelOf(id) === level;
    if (policy.promote === undefined || level === 0 || !trusted || this.#running.has(id)) return;
    const object = this.#capacity.candidate(host.namespace.objectOf(id));
    if (object === undefined || !this.#parts.budget.hasRoom(object.chunkBytes)) return;
    const rooms = this.#capacity.rooms(object, level).filter(({ freeBytes }) => freeBytes >= object.size);
    if (rooms.length === 0) return;
    const target = policy.promote({ ...object, level }, rooms);
    const from = host.tiers[level];
    if (target === undefined || from === undefined || !this.#capacity.keepsUp(object, target, object.size))
      return;
    if (this.#promoting.has(id)) return;
    const promoting = this.#promote(object, from, target).finally(() => this.#promoting.delete(id));
    this.#promoting.set(id, promoting);
  }

  async #promote(object: FillObject, from: Tier, target: number): Promise<void> {
    const { host, budget, copies } = this.#parts;
    const { id, size } = object;
    const copy = await copies.verifying(object, from.level).catch(() => undefined);
    const hasMoved = host.namespace.levelOf(id) !== from.level || this.#running.has(id);
    if (copy === undefined || hasMoved || this.#parts.closing.aborted) return;
    // Uses the chunks of the copy, so that each chunk is read once and compared with its sum.
    const { chunkBytes } = copy;
    const hasRoom = this.#capacity
      .rooms(object, from.level)
      .some(({ level, freeBytes }) => level === target && freeBytes >= size);
    if (!hasRoom || !budget.canHold(chunkBytes) || !this.#capacity.keepsUp(object, target, size)) return;
    let claim = this.#claim(object, target, size);
    if (claim === undefined && copies.stores.asked !== undefined) {
      await copies.stores.asked;
      claim = this.#claim(object, target, size);
    }
    if (claim === undefined) return;
    const bring: BringBytes = (memory, offset, signal) => copy.into(memory, offset, signal);
    this.#begin({ object: { ...object, chunkBytes }, level: target, claim, bring, from, cause: 'promotion' });
  }

  /** Drops the copy of an object, which must not be served any more. */
  lost(object: ObjectRef, level: number, reason: DropReason): void {
    this.#parts.copies.drop(object, level, reason);
    this.#room.forget(object.id, level);
  }

  /**
   * Called when a tier failed to read its copy of an object. A damaged or missing copy is dropped, and the
   * object is fetched again when it is read.
   */
  copyFailed(object: ObjectRef, tier: Tier, error: unknown): void {
    this.#parts.host.tierFault(tier, 'read', object.key, error);
    if (isTieredError(error, 'TIERED_DATA_CORRUPT')) this.lost(object, tier.level, 'damaged');
    if (isTieredError(error, 'TIERED_NOT_FOUND')) this.lost(object, tier.level, 'missing');
  }

  /** Evicts copies placed by this handler, see `LevelHold.giveBack`. */
  giveBack(level: number, bytes: number): void {
    this.#room.giveBack(level, bytes);
  }

  /**
   * Claims bytes of a level. Also undefined if the level must request the room first: then the object is left
   * behind.
   */
  #claim(object: FillObject, level: number, bytes: number): Claim | undefined {
    if (bytes > this.#parts.holds.roomOn(level)) return undefined;
    const claim = this.#parts.copies.stores.claim(level, object, bytes);
    return claim === 'later' ? undefined : claim;
  }

  #begin(begun: Begun): Running {
    const { object, from } = begun;
    const { id } = object;
    const trace = placeChannel.hasSubscribers ? new TracedFill(this.#parts.host, begun) : undefined;
    const fill = trace?.begin(() => new ObjectFill(begun, this.#parts)) ?? new ObjectFill(begun, this.#parts);
    this.#capacity.begin(object);
    this.#parts.holds.begun(begun.level, begun.claim.bytes);
    const running = { fill, from, outcome: this.#outcomeOf(begun, fill, trace) };
    this.#running.set(id, running);
    return running;
  }

  /** Follows a fill to its end. Never rejects. */
  async #outcomeOf(begun: Begun, fill: ObjectFill, trace: TracedFill | undefined): Promise<PlaceOutcome> {
    const { object, level, claim } = begun;
    const failure = await fill.done;
    this.#running.delete(object.id);
    this.#capacity.end(object);
    this.#parts.holds.ended(level, claim.bytes);
    const how = failure === undefined ? await this.#end(begun, fill) : this.#failed(begun, fill, failure);
    begun.turn?.end();
    trace?.end(how, failure);
    this.#leftBehind.goOn();
    return how;
  }

  /** Serves the placed copy. Returns the outcome of the placement. Never rejects. */
  async #end({ object, level, claim, from }: Begun, fill: ObjectFill): Promise<PlaceOutcome> {
    const { host, copies, holds } = this.#parts;
    const { id } = object;
    const { tier } = copies.stores.at(level);
    host.tierWorked(tier, 'write');
    const hasMoved = from !== 'source' && host.namespace.levelOf(id) !== from.level;
    if (!isCurrent(host, object) || hasMoved) {
      // Meanwhile the object changed its version, or the copy to promote is gone. The bytes stay claimed
      // until they are deleted.
      await copies.remove(claim.store, fill.copy);
      return 'discarded';
    }
    if (!copies.placed(id, claim, fill.copy)) return 'discarded';
    holds.placed(level, id, claim.bytes);
    if (from === 'source') this.counts.placed += 1;
    else this.counts.promoted += 1;
    this.#room.touch(id, level, claim.bytes);
    host.placed(object, level, claim.bytes);
    // The slower copy is deleted only if the faster one outlives this process. Otherwise both stay: other
    // processes serve from the slower one, and so does the next start.
    if (from !== 'source' && isLasting(tier)) copies.removeFrom(object, from.level);
    else if (from !== 'source') copies.cover(id);
    this.#room.on(level, 0);
    return 'placed';
  }

  /** Cleans up after a failed fill. Returns the outcome of the placement. */
  #failed(begun: Begun, fill: ObjectFill, failure: FillFailure): PlaceOutcome {
    const { host, closing } = this.#parts;
    const { object, from } = begun;
    const outcome = this.#failures.meet(begun, fill, failure);
    const isCopyServed =
      from !== 'source' && !closing.aborted && host.namespace.levelOf(object.id) === from.level;
    if (isCopyServed && failure.side === 'source') this.copyFailed(object, from, failure.error);
    return outcome;
  }

  /**
   * Makes room for an object that did not fit, if the policy evicts. The next object that is read finds the
   * room.
   */
  #makeRoomFor(object: FillObject): void {
    const { policy, host } = this.#parts;
    if (policy.evicts !== true) return;
    const empty = this.#capacity.rooms(object, host.tiers.length).map((room) => ({
      ...room,
      freeBytes: room.quotaBytes,
    }));
    const level = policy.place(object, empty);
    if (level !== undefined) this.#room.on(level, object.size);
  }

  #fromSource(object: ObjectRef): BringBytes {
    const { source } = this.#parts;
    return (target, offset, ...how) => source.into(object, target, offset, ...how);
  }
}
