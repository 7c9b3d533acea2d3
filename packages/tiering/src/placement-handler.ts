import {
  isTieredError,
  type DropReason,
  type OperationOptions,
  type ReadOutcome,
  type Tier,
} from '@tiered/core';
import type {
  ObjectRef,
  Placement,
  PlacementHost,
  PlacementRead,
  PlacementStats,
  TracedOptions,
} from '@tiered/core/placement';
import {
  allEnded,
  closedError,
  invariant,
  memoryFor,
  NOTHING_PLACED,
  OperationScope,
  readOutcome,
  raceAbort,
  sourceChanged,
} from '@tiered/core/internal';
import { inSingleRanges } from '@tiered/core/driver';
import pLimit from 'p-limit';
import type { VerifiedReader } from './copies/verified-reader.js';
import { ChunkSize } from './source/chunk-size.js';
import { isCurrent } from './fill/fill-parts.js';
import type { ObjectFill } from './fill/object-fill.js';
import { checkedHandlerOptions, type PlacementHandlerOptions } from './options.js';
import { openParts, type HandlerParts } from './handler-parts.js';
import { statsOf } from './stats.js';
import { placeNow } from './fill/place-now.js';
import { evictNow } from './eviction/evict-now.js';
import type { PlacementPolicy } from './policies/policy.js';
import type { Range } from './source/range-reads.js';
import { ServedReads, type Reading } from './served-reads.js';

const NOTHING = Promise.resolve();

/** A read asks for room this many times at most, and then goes on without it. */
const MOST_ASKS = 16;

/** Calls of `place` that are worked on at the same time; the others wait for these. */
const PLACES_AT_A_TIME = 256;

/**
 * Places objects on tiers while they are read (MONARCH, CCGrid'22, section III).
 *
 * **Problem.** The first epoch has to read everything from the source anyway; later epochs should not.
 * Copying must not delay the reads that cause it, must not ask the source twice for a byte, and must not
 * overfill a tier. What is on a tier must be worth trusting after a crash.
 *
 * **Moving parts.** The *policy* names a level for an object that is read for the first time. The level's
 * *store* grants the bytes, from a lease of the index that all processes on that tier share. A *fill* then
 * brings the object chunk by chunk, those that readers wait for first. It gives the chunks to the readers and
 * writes them to the tier; at the end it publishes the copy. A *range read* brings what is not being placed.
 * The *copy index* knows what is on the tiers, checks what an earlier process left there, and removes what
 * must not be served. The *gate* lets requests pass to the source: those of readers at once, the others when
 * no reader is waiting.
 *
 * **The way of a read.** The read path itself serves copies that are whole and trusted. All other reads come
 * here. A read is served from a copy that is still to be checked, or that holds only the beginning of the
 * object; else from a fill that is under way; else from a fill that begins now; else from the source. A read
 * that spans the end of a partial copy is put together from both.
 *
 * **Invariants.** Copies and claims of a tier never exceed its quota, over all processes. An object has at
 * most one fill under way, and one copy that is served. A reader waits for its bytes and for nothing else.
 * Bytes that were fetched of one version are never served or published as another. After `close` nothing is
 * under way.
 */
export class PlacementHandler implements Placement {
  readonly seesHits: boolean;
  /** Decides which level an object is placed on. */
  readonly policy: PlacementPolicy;
  readonly #concurrency: number;
  readonly #chunkSize: ChunkSize;
  readonly #memoryBytes: number;
  readonly #readersWait: boolean;
  readonly #closing = new AbortController();
  /** Reads of tiers, except those of the read path. Their readers may leave; close() waits for them. */
  readonly #tierReads = new OperationScope();
  readonly #places = pLimit(PLACES_AT_A_TIME);
  readonly #served = new ServedReads();
  #attached: HandlerParts | undefined;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. */
  constructor(options: PlacementHandlerOptions = {}) {
    const { policy, concurrency, chunk, memoryBytes, whenBehind } = checkedHandlerOptions(options);
    this.#readersWait = whenBehind === 'wait';
    this.policy = policy;
    this.seesHits = policy.evicts === true || policy.promote !== undefined;
    this.#concurrency = concurrency;
    this.#memoryBytes = memoryBytes;
    this.#chunkSize = new ChunkSize(chunk, this.#memoryBytes);
  }

  /** @throws TieredError `TIERED_CONFIG_INVALID` for a quota that holds not even one chunk. */
  assertTiers(tiers: readonly Tier[]): void {
    for (const tier of tiers) this.#chunkSize.assertFits(tier);
    if (tiers.length > 0) this.policy.assertLevels?.(tiers.length);
  }

  /** Opens the tiers, and begins to adopt their copies that are of the present versions. */
  async open(host: PlacementHost, options: OperationOptions): Promise<void> {
    this.#attached = await openParts(
      {
        host,
        policy: this.policy,
        concurrency: this.#concurrency,
        chunkSize: this.#chunkSize,
        memoryBytes: this.#memoryBytes,
        readersWait: this.#readersWait,
        tierReads: this.#tierReads,
        closing: this.#closing.signal,
      },
      options,
    );
  }

  read(object: ObjectRef, offset: number, length: number, options: TracedOptions): Promise<Uint8Array> {
    return this.#served.count(options, (reading) => this.#read({ object, offset, length }, reading));
  }

  async #read(range: Range, options: Reading): Promise<Uint8Array> {
    this.#closing.signal.throwIfAborted();
    const { object, offset, length } = range;
    const copy = this.#mayBeHeld(object.id) ? await this.#usableCopy(object, options.signal) : undefined;
    if (copy === undefined || offset >= copy.copy.bytes) {
      const fill = await this.#fillOrLater(range, options);
      if (fill === undefined) return this.#parts.ranges.read(this.#counted(range, options), options.signal);
      if (offset + length <= fill.bytes) return fill.read(offset, length, options.signal);
    }
    const target = memoryFor(length, object.key);
    await raceAbort(this.#readParts(object, offset, target, options), options.signal);
    return target;
  }

  async readInto(
    object: ObjectRef,
    offset: number,
    target: Uint8Array,
    options: TracedOptions,
  ): Promise<void> {
    this.#closing.signal.throwIfAborted();
    await this.#served.count(options, (reading) => this.#readParts(object, offset, target, reading));
  }

  async readMany(reads: readonly PlacementRead[], options: TracedOptions): Promise<readonly ReadOutcome[]> {
    // Objects that are being placed are fetched in chunks that readers share, so a batch gains nothing.
    const readOne = async (read: PlacementRead) => {
      const { object, offset, target, pieces } = read;
      if (pieces === undefined) await this.readInto(object, offset, target, options);
      else await this.#served.count(options, (reading) => this.#readPieces(read, pieces, reading));
      return target.byteLength;
    };
    return Promise.all(reads.map((read) => readOutcome(readOne(read))));
  }

  /** Reads pieces in one request if the object stays in the source, else wherever each of them is. */
  async #readPieces(read: PlacementRead, pieces: Float64Array, reading: Reading): Promise<void> {
    this.#closing.signal.throwIfAborted();
    const { object, offset, target } = read;
    const range = { object, offset, length: object.size - offset };
    const copy = this.#mayBeHeld(object.id) ? await this.#usableCopy(object, reading.signal) : undefined;
    if (copy === undefined && (await this.#fillOrLater(range, reading)) === undefined) {
      reading.by.own = true;
      return this.#parts.ranges.readPieces(range, target, pieces, reading.signal);
    }
    const { requests } = inSingleRanges([read]);
    await allEnded(requests.map((one) => this.#readParts(object, one.offset, one.target, reading)));
  }

  place(object: ObjectRef, { signal }: OperationOptions): Promise<number> {
    // Bounded, because each call that waits for room looks again whenever a fill has ended.
    const calm = this.#parts.haste.begin();
    const placed = this.#places(() => placeNow(this.#parts, this.#closing.signal, object, signal));
    return raceAbort(placed.finally(calm), signal);
  }

  /**
   * Deletes the copy that is served of an object, for whoever knows better than the policy what is read next.
   * The object is read from the source from now on, and is placed as one that never was.
   *
   * Resolves to true when the tier has its room back, or to false if there is no copy. A copy that could not
   * be deleted keeps its room, and that is tried again (event `tierFault`).
   * @throws TieredError `TIERED_NOT_OPEN`; `TIERED_CLOSED`. An abort ends the waiting only.
   */
  async evict(key: string, { signal }: OperationOptions = {}): Promise<boolean> {
    this.#closing.signal.throwIfAborted();
    return evictNow(this.#parts, key, signal);
  }

  /** Bytes that there is room for now on each level: quota less copies, and less claims of all processes. */
  freeBytes(): readonly number[] {
    const { host, copies } = this.#parts;
    return host.tiers.map(({ level }) => copies.stores.at(level).freeBytes);
  }

  lost(object: ObjectRef, level: number, reason: DropReason): void {
    this.#parts.fills.lost(object, level, reason);
  }

  hit(id: number, level: number): void {
    this.#parts.fills.hit(id, level);
  }

  async idle({ signal }: OperationOptions): Promise<void> {
    const { copies, fills, haste } = this.#parts;
    const calm = haste.begin();
    try {
      for (;;) {
        const underWay = [...copies.underWay, ...fills.underWay];
        if (underWay.length === 0) return;
        await raceAbort(Promise.all(underWay), signal);
      }
    } finally {
      calm();
    }
  }

  /** Returns what was done so far, and what is held at this moment. */
  stats(): PlacementStats {
    if (this.#attached === undefined) return NOTHING_PLACED;
    return { ...this.#served.counts, ...statsOf(this.#attached) };
  }

  async close(): Promise<void> {
    const reason = closedError();
    this.#closing.abort(reason);
    if (this.#attached === undefined) return;
    const { ranges, copies, fills } = this.#attached;
    await Promise.all([ranges.close(reason), this.#tierReads.close(reason)]);
    await Promise.all(fills.underWay);
    await copies.close();
  }

  /** Whether a tier has a copy of an object, or may have one and should be asked. Costs no promise. */
  #mayBeHeld(id: number): boolean {
    const { copies, fills } = this.#parts;
    return fills.of(id) === undefined && copies.mayBeHeld(id);
  }

  /** The copy to read here, if there is one and its tier is in service. */
  async #usableCopy(object: ObjectRef, signal: AbortSignal | undefined): Promise<VerifiedReader | undefined> {
    const { copies } = this.#parts;
    const held = copies.isHeld(object).then((isHeld) => (isHeld ? copies.readerFor(object) : undefined));
    const copy = await raceAbort(held, signal);
    this.#closing.signal.throwIfAborted();
    return copy?.tier.reading.inService === true ? copy : undefined;
  }

  /** Fills the target from the copy, the fill or the source, wherever its parts are. */
  async #readParts(object: ObjectRef, offset: number, target: Uint8Array, options: Reading): Promise<void> {
    const { namespace, source } = this.#parts.host;
    const length = target.byteLength;
    const copy = this.#mayBeHeld(object.id) ? await this.#usableCopy(object, options.signal) : undefined;
    if (copy !== undefined) {
      if (await this.#fromCopy(object, copy, offset, target, options)) return;
      // The range was one of another version. The caller has to look up the size again.
      if (namespace.sizeOf(object.id) !== object.size)
        throw sourceChanged(source, object.key, { offset, got: 0, wanted: length });
    }
    const fill = await this.#fillOrLater({ object, offset, length }, options);
    const held = fill === undefined ? 0 : Math.min(length, fill.bytes - offset);
    if (fill === undefined || held <= 0) return this.#fromRange(object, offset, target, options);
    if (held === length) return fill.readInto(target, offset, options.signal);
    // Not into the target yet: only when the rest has come as well is it certain that both are of one
    // version.
    const head = new Uint8Array(held);
    const tail = target.subarray(held);
    try {
      await allEnded([
        fill.readInto(head, offset, options.signal),
        this.#fromRange(object, offset + held, tail, options),
      ]);
    } catch (error) {
      if (isTieredError(error, 'TIERED_SOURCE_CHANGED')) tail.fill(0);
      throw error;
    }
    target.set(head);
  }

  /**
   * Reads the part of a range that a copy holds from the copy, and the rest from the source. False if the
   * copy failed.
   */
  async #fromCopy(
    object: ObjectRef,
    copy: VerifiedReader,
    offset: number,
    target: Uint8Array,
    options: Reading,
  ): Promise<boolean> {
    const { host, copies, fills } = this.#parts;
    const held = Math.max(0, Math.min(target.byteLength, copy.copy.bytes - offset));
    // The source first, and not at the same time: if it has another version by now, nothing of this one may
    // be in the target.
    await this.#fromRange(object, offset + held, target.subarray(held), options);
    if (held > 0) {
      const head = target.subarray(0, held);
      const reading = this.#tierReads.run(options.signal, (signal) => copy.into(head, offset, signal));
      const failure = await reading.then(
        () => undefined,
        (error: unknown) => ({ error }),
      );
      if (failure !== undefined) {
        options.signal?.throwIfAborted();
        this.#closing.signal.throwIfAborted();
        this.#copyFailed(object, copy, failure.error);
        return false;
      }
      options.by.copy = copy.tier.level;
      copies.settle(object.id, copy);
      host.tierServed(copy.tier, held);
      if (this.seesHits) fills.hit(object.id, copy.tier.level);
    }
    return true;
  }

  #copyFailed(object: ObjectRef, { copy, tier }: VerifiedReader, error: unknown): void {
    const { host, copies, fills } = this.#parts;
    // If the copy was dropped or moved meanwhile, the tier is not at fault.
    if (host.namespace.levelOf(object.id) !== tier.level || copies.knownReader(object.id)?.copy !== copy)
      return;
    fills.copyFailed(object, tier, error);
  }

  /**
   * As `#fillFor`, but waits where a level is just being asked for room, which takes milliseconds. Waits
   * again if others were granted that room. Without the wait the object would be fetched once for its reader
   * and once more for the tier.
   */
  async #fillOrLater(range: Range, reading: Reading): Promise<ObjectFill | undefined> {
    const { copies, fills } = this.#parts;
    for (let asks = 0; ; asks++) {
      const fill = this.#fillFor(range, reading);
      if (fill !== 'behind') return fill;
      const { asked } = copies.stores;
      if (asked === undefined || !this.#readersWait || asks === MOST_ASKS) break;
      await raceAbort(asked, reading.signal);
      this.#closing.signal.throwIfAborted();
    }
    fills.counts.behind += 1;
    fills.leaveBehind(range.object.id);
    return undefined;
  }

  /**
   * A fill that serves the part of a range that its copy is to hold. If none is under way, one begins,
   * provided that the object has a place and the tiers are not behind.
   */
  #fillFor({ object, offset, length }: Range, { by }: Reading): ObjectFill | 'behind' | undefined {
    const { host, fills } = this.#parts;
    const known = fills.of(object.id);
    const running = known ?? fills.start(object);
    if (running === undefined || running === 'behind') return running;
    const { fill } = running;
    const held = Math.min(length, fill.bytes - offset);
    if (held <= 0 || !isCurrent(host, fill.object) || !fill.serves(offset, held)) return undefined;
    by[known === undefined ? 'own' : 'joined'] = true;
    return fill;
  }

  #fromRange(object: ObjectRef, offset: number, target: Uint8Array, options: Reading): Promise<void> {
    if (target.byteLength === 0) return NOTHING;
    const range = this.#counted({ object, offset, length: target.byteLength }, options);
    return this.#parts.ranges.readInto(range, target, options.signal);
  }

  /**
   * Counts a range that this reader is about to read from the source, alone or together with another reader.
   */
  #counted(range: Range, { by }: Reading): Range {
    by[this.#parts.ranges.covers(range) ? 'joined' : 'own'] = true;
    return range;
  }

  get #parts(): HandlerParts {
    invariant(this.#attached !== undefined, 'a placement handler was used before its hierarchy started');
    return this.#attached;
  }
}
