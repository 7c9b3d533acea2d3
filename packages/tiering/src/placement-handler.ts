import type { DropReason, OperationOptions, ReadOutcome, Tier } from '@tiered/core';
import type {
  LevelHold,
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
  NOTHING_PLACED,
  OperationScope,
  readOutcome,
  raceAbort,
} from '@tiered/core/internal';
import { inSingleRanges } from '@tiered/core/driver';
import pLimit from 'p-limit';
import { ChunkSize } from './source/chunk-size.js';
import { checkedHandlerOptions, type PlacementHandlerOptions } from './options.js';
import { openParts, type HandlerParts, statsOf } from './handler-parts.js';
import type { Origin } from './origins/origin.js';
import { SourceOrigin } from './origins/source-origin.js';
import { Holds } from './admission/holds.js';
import { placeNow, evictNow } from './admission/on-demand.js';
import type { PlacementPolicy } from './policies/policy.js';
import type { Range } from './source/range-reads.js';
import { newReading, ServedReads, type Reading } from './origins/served-reads.js';

/** Maximum number of concurrent `place` calls; further calls queue. */
const PLACES_AT_A_TIME = 256;

/**
 * Places objects on tiers while they are read (MONARCH, CCGrid'22, section III).
 *
 * **Problem.** The first epoch has to read everything from the source anyway; later epochs should not.
 * Copying must not delay the reads that cause it, must not request a byte from the source twice, and must not
 * overfill a tier. Copies on a tier must be trustworthy after a crash.
 *
 * **Moving parts.** The *policy* chooses a level for an object that is read for the first time. The level's
 * *store* grants the bytes, from a lease on the index that all processes on that tier share. A *fill* then
 * fetches the object chunk by chunk, starting with the chunks that readers wait for. It hands the chunks to
 * the readers, writes them to the tier, and finally publishes the copy. A *range read* fetches bytes that are
 * not being placed. The *copy index* tracks the copies on the tiers, checks those of earlier processes, and
 * removes those that must not be served. The *gate* admits requests to the source: readers' requests at once,
 * background requests when they delay no reader.
 *
 * **How a read is served.** The read path itself serves copies that are whole and trusted. All other reads
 * come here. *Origins* decide where the range of a read comes from, in this order: a copy that is unchecked
 * or holds only the beginning of the object, a fill in progress, a new fill, the source. A range that spans
 * the end of a partial copy has two origins.
 *
 * **Invariants.** Copies and claims of a tier never exceed its quota, over all processes. An object has at
 * most one fill in progress, and one copy that is served. A reader waits for its bytes and nothing else.
 * Bytes fetched from one version are never served or published as another. After `close` nothing is in
 * progress.
 */
export class PlacementHandler implements Placement {
  readonly seesHits: boolean;
  /** Decides which level an object is placed on. */
  readonly policy: PlacementPolicy;
  readonly #options: PlacementHandlerOptions;
  readonly #concurrency: number;
  readonly #chunkSize: ChunkSize;
  readonly #memoryBytes: number;
  readonly #readersWait: boolean;
  readonly #closing = new AbortController();
  /** Tier reads outside the read path. Their readers may leave; `close` waits for the reads. */
  readonly #tierReads = new OperationScope();
  readonly #places = pLimit(PLACES_AT_A_TIME);
  readonly #served = new ServedReads();
  readonly #holds = new Holds();
  #attached: HandlerParts | undefined;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for invalid options. */
  constructor(options: PlacementHandlerOptions = {}) {
    const { policy, concurrency, chunk, memoryBytes, whenBehind } = checkedHandlerOptions(options);
    this.#options = options;
    this.#readersWait = whenBehind === 'wait';
    this.policy = policy;
    this.seesHits = policy.evicts === true || policy.promote !== undefined;
    this.#concurrency = concurrency;
    this.#memoryBytes = memoryBytes;
    this.#chunkSize = new ChunkSize(chunk, this.#memoryBytes);
  }

  /** Returns a handler with the same options and another policy. This handler is unchanged. */
  withPolicy(policy: PlacementPolicy): PlacementHandler {
    return new PlacementHandler({ ...this.#options, policy });
  }

  /** @throws TieredError `TIERED_CONFIG_INVALID` for a quota smaller than one chunk. */
  assertTiers(tiers: readonly Tier[]): void {
    for (const tier of tiers) this.#chunkSize.assertFits(tier);
    if (tiers.length > 0) this.policy.assertLevels?.(tiers.length);
  }

  /** Opens the tiers, and starts to adopt their copies of current object versions. */
  async open(host: PlacementHost, options: OperationOptions): Promise<void> {
    this.#attached = await openParts(
      {
        host,
        policy: this.policy,
        concurrency: this.#concurrency,
        chunkSize: this.#chunkSize,
        memoryBytes: this.#memoryBytes,
        readersWait: this.#readersWait,
        seesHits: this.seesHits,
        tierReads: this.#tierReads,
        holds: this.#holds,
        closing: this.#closing.signal,
      },
      options,
    );
  }

  async read(object: ObjectRef, offset: number, length: number, options: TracedOptions): Promise<Uint8Array> {
    const reading = newReading(options);
    const origin = await this.#originOf({ object, offset, length }, reading);
    const bytes = await origin.read(reading);
    this.#served.count(reading, options);
    return bytes;
  }

  async readInto(
    object: ObjectRef,
    offset: number,
    target: Uint8Array,
    options: TracedOptions,
  ): Promise<void> {
    const reading = newReading(options);
    const origin = await this.#originOf({ object, offset, length: target.byteLength }, reading);
    await origin.readInto(target, reading);
    this.#served.count(reading, options);
  }

  async readMany(reads: readonly PlacementRead[], options: TracedOptions): Promise<readonly ReadOutcome[]> {
    // Objects being placed are fetched in chunks that readers share, so batching gains nothing.
    const readOne = async (read: PlacementRead) => {
      const { object, offset, target, pieces } = read;
      if (pieces === undefined) await this.readInto(object, offset, target, options);
      else await this.#readPieces(read, pieces, options);
      return target.byteLength;
    };
    return Promise.all(reads.map((read) => readOutcome(readOne(read))));
  }

  /** Reads pieces in one request if the object stays in the source; else reads each from its own origin. */
  async #readPieces(read: PlacementRead, pieces: Float64Array, options: TracedOptions): Promise<void> {
    const { object, offset, target } = read;
    const reading = newReading(options);
    const origin = await this.#originOf({ object, offset, length: object.size - offset }, reading);
    if (origin instanceof SourceOrigin) await origin.readPieces(target, pieces, reading);
    else {
      const readOne = async (one: Omit<PlacementRead, 'pieces'>) => {
        const range = { object, offset: one.offset, length: one.target.byteLength };
        await (await this.#originOf(range, reading)).readInto(one.target, reading);
      };
      const { requests } = inSingleRanges([read]);
      await allEnded(requests.map(readOne));
    }
    this.#served.count(reading, options);
  }

  /**
   * Returns the origin of a range; a promise only if it is not known at once.
   * @throws TieredError `TIERED_CLOSED` after `close`.
   */
  #originOf(range: Range, reading: Reading): Origin | Promise<Origin> {
    this.#closing.signal.throwIfAborted();
    return this.#parts.origins.of(range, reading);
  }

  place(object: ObjectRef, { signal }: OperationOptions): Promise<number> {
    // Bounded, because each call that waits for room looks again whenever a fill ends.
    const calm = this.#parts.urgency.begin();
    const placed = this.#places(() => placeNow(this.#parts, this.#closing.signal, object, signal));
    return raceAbort(placed.finally(calm), signal);
  }

  /**
   * Deletes the served copy of an object. For callers that know better than the policy what is read next.
   * From now on the object is read from the source, and is placed as if for the first time.
   *
   * Resolves to true once the tier has its room back, or to false if there is no copy. A copy that could not
   * be deleted keeps its room, and the deletion is retried (event `tierFault`).
   * @throws TieredError `TIERED_NOT_OPEN`; `TIERED_CLOSED`. An abort ends only the wait.
   */
  async evict(key: string, { signal }: OperationOptions = {}): Promise<boolean> {
    this.#closing.signal.throwIfAborted();
    return evictNow(this.#parts, key, signal);
  }

  /**
   * Returns the free bytes of each level: the quota minus the copies and claims of all processes, or the rest
   * of the level's bound if that is less.
   */
  freeBytes(): readonly number[] {
    const { host, copies } = this.#parts;
    return host.tiers.map(({ level }) =>
      Math.max(0, Math.min(copies.stores.at(level).freeBytes, this.#holds.roomOn(level))),
    );
  }

  /**
   * Returns what this handler holds of a level, and its bound. For callers that divide a level among several.
   */
  hold(level: number): LevelHold {
    return this.#holds.of(level);
  }

  lost(object: ObjectRef, level: number, reason: DropReason): void {
    this.#parts.fills.lost(object, level, reason);
  }

  hit(id: number, level: number): void {
    this.#parts.fills.hit(id, level);
  }

  async idle({ signal }: OperationOptions): Promise<void> {
    const { copies, fills, urgency } = this.#parts;
    const calm = urgency.begin();
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

  /** Returns what was done so far, and what is held now. */
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

  get #parts(): HandlerParts {
    invariant(this.#attached !== undefined, 'a placement handler was used before its hierarchy started');
    return this.#attached;
  }
}
