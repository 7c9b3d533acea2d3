import {
  isTieredError,
  parseBytes,
  type ByteSize,
  type DropReason,
  type OperationOptions,
  type Placement,
  type PlacementHost,
  type PlacementStats,
  type Tier,
} from '@tiered/core';
import { closedError, configError, invariant, loadChecksum, raceAbort } from '@tiered/core/internal';
import pLimit from 'p-limit';
import type { CheckedCopy } from './checked-copy.js';
import { ChunkSize } from './chunk-size.js';
import { Copies } from './copies.js';
import { MemoryBudget } from './memory-budget.js';
import { Placings } from './placings.js';
import { firstFit } from './policies/first-fit.js';
import type { PlacementPolicy } from './policies/policy.js';
import { RangeReads } from './range-reads.js';
import { SourceGate } from './source-gate.js';
import { memoryFor, SourceReads } from './source-reads.js';

/** Options of `PlacementHandler`. */
export interface PlacementHandlerOptions {
  /** Where objects are to live. Default: `firstFit`, the optimum where every object is read once an epoch. */
  readonly policy?: PlacementPolicy;
  /**
   * Requests to the source that nobody waits for, and writes to tiers, at the same time; at least 1. Default: 6, the
   * paper's pool.
   */
  readonly concurrency?: number;
  /**
   * Bytes of a request to the source when an object is being placed; objects up to this size are fetched whole.
   * Default: from 4 MiB on, between 1 and 16 MiB, so that a request takes 20 to 200 ms: long enough that latency does not
   * count, short enough that a reader of a part does not wait for the rest.
   */
  readonly chunk?: ByteSize;
  /**
   * Bytes of memory for chunks that are on their way. What readers ask for is fetched even beyond it, but then not placed;
   * the background takes only what is left. Default: 256 MiB.
   */
  readonly memory?: ByteSize;
}

/** What a handler works with once its hierarchy has started. */
interface Parts {
  readonly host: PlacementHost;
  readonly budget: MemoryBudget;
  readonly source: SourceReads;
  readonly ranges: RangeReads;
  readonly copies: Copies;
  readonly placings: Placings;
}

const NOTHING_YET: PlacementStats = {
  sourceReads: 0,
  sourceBytes: 0,
  joinedReads: 0,
  placed: 0,
  adopted: 0,
  damaged: 0,
  outdated: 0,
  evicted: 0,
  promoted: 0,
  declined: 0,
  failed: 0,
  fetching: 0,
  fetchingBytes: 0,
  tiers: [],
};

/**
 * Places objects on tiers while they are read (MONARCH, CCGrid'22, section III).
 *
 * **Problem.** The first epoch has to read everything from the source anyway; later epochs should not. Copying must
 * not delay the reads that cause it, must not ask the source twice for a byte, must not overfill a tier, and what is on
 * a tier must be worth trusting after a crash.
 *
 * **Moving parts.** The *policy* names a level for an object that is read for the first time. The level's *store* grants
 * the bytes, in a log that all processes on that tier share. A *placing* then brings the object chunk by chunk,
 * those that readers wait for first, gives them to the readers, and writes them to the tier; at the end it publishes the
 * copy. A *range read* brings what is not being placed. *Copies* knows what is on the tiers, checks what an earlier
 * process left there, and removes what must not be served. The *gate* lets requests pass to the source: those of
 * readers at once, the others when nobody is waiting.
 *
 * **The way of a read.** Copies that are whole and trusted the read path serves by itself. What comes here is served from
 * a copy that is to be checked, or holds only the beginning; else from a placing; else by a placing that begins now;
 * else from the source. A read that spans the end of a partial copy is put together from both.
 *
 * **Invariants.** Copies and claims of a tier never exceed its quota, over all processes. An object has at most one
 * placing under way, and one copy that is served. A reader waits for its bytes and for nothing else. What was
 * fetched of one version is never served or published as another. After `close` nothing is under way.
 */
export class PlacementHandler implements Placement {
  readonly seesHits: boolean;
  readonly #policy: PlacementPolicy;
  readonly #concurrency: number;
  readonly #chunkSize: ChunkSize;
  readonly #memoryBytes: number;
  readonly #closing = new AbortController();
  #started = false;
  #joinedReads = 0;
  #attached: Parts | undefined;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. */
  constructor(options: PlacementHandlerOptions = {}) {
    const { policy = firstFit, concurrency = 6, chunk, memory = '256MiB' } = options;
    if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
      throw configError('concurrency', 'a whole number of at least 1', concurrency);
    }
    if (typeof (policy as Partial<PlacementPolicy>).place !== 'function') {
      throw configError('policy', 'a policy such as firstFit', policy);
    }
    this.#policy = policy;
    this.seesHits = policy.evicts === true || policy.promote !== undefined;
    this.#concurrency = concurrency;
    this.#memoryBytes = parseBytes(memory, 'memory');
    this.#chunkSize = new ChunkSize(chunk, this.#memoryBytes);
  }

  /** @throws TieredError `TIERED_CONFIG_INVALID` for a quota that holds not even one chunk. */
  assertTiers(tiers: readonly Tier[]): void {
    for (const { level, quotaBytes } of tiers) {
      const least = this.#chunkSize.smallest;
      if (quotaBytes < least)
        throw configError(`tiers[${level}].quota`, `at least one chunk, which is ${least} bytes`, quotaBytes);
    }
  }

  /** Opens the tiers' logs and takes over the copies that are of the present versions. */
  async start(host: PlacementHost, options: OperationOptions): Promise<void> {
    if (this.#started)
      throw configError('placement', 'a handler that serves no other hierarchy', 'one in use');
    this.#started = true;
    const checksum = await loadChecksum();
    const budget = new MemoryBudget(this.#memoryBytes);
    const gate = new SourceGate(this.#concurrency);
    const source = new SourceReads(host, this.#chunkSize);
    const copies = await Copies.open(host, checksum, this.#closing.signal, options);
    const placings = new Placings({
      host,
      policy: this.#policy,
      copies,
      source,
      gate,
      budget,
      checksum,
      chunkSize: this.#chunkSize,
      writes: pLimit(this.#concurrency),
      lanes: this.#concurrency,
      closing: this.#closing.signal,
    });
    this.#attached = { host, budget, source, ranges: new RangeReads(source, gate, budget), copies, placings };
  }

  async read(id: number, offset: number, length: number, options: OperationOptions): Promise<Uint8Array> {
    this.#closing.signal.throwIfAborted();
    const { copies, placings } = this.#parts;
    const copy = copies.toCheck(id);
    if (copy?.tier.reading.inService === true) {
      const bytes = await this.#fromCopy(id, copy, offset, length, options);
      if (bytes !== undefined) return bytes;
    }
    const { host } = this.#parts;
    const placed = host.namespace.levelOf(id) < host.tiers.length;
    if (!placed && placings.of(id) === undefined && copies.adopt(id)) {
      return this.read(id, offset, length, options);
    }
    return this.#fromSource(id, offset, length, options);
  }

  async place(id: number, { signal }: OperationOptions): Promise<number> {
    const { host, copies, placings } = this.#parts;
    for (;;) {
      this.#closing.signal.throwIfAborted();
      const level = host.namespace.levelOf(id);
      if (level < host.tiers.length || copies.adopt(id)) return host.namespace.levelOf(id);
      const running = placings.of(id);
      if (running !== undefined) {
        await raceAbort(running.ended, signal);
        this.#closing.signal.throwIfAborted();
        return host.namespace.levelOf(id);
      }
      if (copies.isRemoving(id)) await raceAbort(Promise.all(copies.underWay), signal);
      else if (placings.isBusy) await raceAbort(placings.oneEnded(), signal);
      else if (placings.start(id) === undefined) return host.namespace.levelOf(id);
    }
  }

  lost(id: number, level: number, reason: DropReason): void {
    this.#parts.copies.drop(id, level, reason);
    this.#parts.placings.forget(id, level);
  }

  hit(id: number, level: number): void {
    this.#parts.placings.hit(id, level);
  }

  async idle({ signal }: OperationOptions): Promise<void> {
    const { copies, placings } = this.#parts;
    for (;;) {
      const underWay = [...copies.underWay, ...placings.underWay];
      if (underWay.length === 0) return;
      await raceAbort(Promise.all(underWay), signal);
    }
  }

  stats(): PlacementStats {
    if (this.#attached === undefined) return NOTHING_YET;
    const { budget, source, ranges, copies, placings } = this.#attached;
    return {
      ...source.counts,
      ...copies.counts,
      ...placings.counts,
      joinedReads: this.#joinedReads,
      fetching: ranges.count + placings.count,
      fetchingBytes: budget.held,
      tiers: copies.stores.map(({ usedBytes, claimedBytes, quotaBytes }) => ({
        usedBytes,
        reservedBytes: claimedBytes,
        quotaBytes,
      })),
    };
  }

  async close(): Promise<void> {
    const reason = closedError();
    this.#closing.abort(reason);
    if (this.#attached === undefined) return;
    const { ranges, copies, placings } = this.#attached;
    await ranges.close(reason);
    await Promise.all(placings.underWay);
    await Promise.all(copies.underWay);
    copies.close();
  }

  /** Bytes of a copy that the read path cannot read by itself; undefined if it turned out not to have them. */
  async #fromCopy(
    id: number,
    copy: CheckedCopy,
    offset: number,
    length: number,
    options: OperationOptions,
  ): Promise<Uint8Array | undefined> {
    const { host, copies, placings } = this.#parts;
    const held = Math.max(0, Math.min(length, copy.copy.bytes - offset));
    if (held === 0) return this.#fromRange(id, offset, length, options);
    try {
      const head = memoryFor(held);
      const rest = held < length ? this.#fromRange(id, offset + held, length - held, options) : undefined;
      const [, tail] = await raceAbort(
        Promise.all([copy.into(head, offset, this.#closing.signal), asOutcome(rest)]),
        options.signal,
      );
      copies.settle(id, copy);
      host.tierServed(copy.tier, held);
      if (this.seesHits) placings.hit(id, copy.tier.level);
      return tail === undefined ? head : join(head, unwrap(tail));
    } catch (error) {
      options.signal?.throwIfAborted();
      this.#closing.signal.throwIfAborted();
      if (error instanceof SourceFailure) throw error.cause;
      this.#copyFailed(id, copy, error);
      return undefined;
    }
  }

  #copyFailed(id: number, { copy, tier }: CheckedCopy, error: unknown): void {
    const { host, copies } = this.#parts;
    // One that was dropped or moved meanwhile is no fault of the tier.
    if (host.namespace.levelOf(id) !== tier.level || copies.toCheck(id)?.copy !== copy) return;
    host.tierFault(tier, 'read', copy.key, error);
    if (isTieredError(error, 'TIERED_DATA_CORRUPT')) copies.drop(id, tier.level, 'damaged');
    if (isTieredError(error, 'TIERED_NOT_FOUND')) copies.drop(id, tier.level, 'missing');
  }

  /** Bytes that no tier can give. Places the object if it has a place, and is not on its way to one. */
  async #fromSource(
    id: number,
    offset: number,
    length: number,
    options: OperationOptions,
  ): Promise<Uint8Array> {
    const { host, placings } = this.#parts;
    const version = host.namespace.versionOf(id);
    const known = placings.of(id);
    const placing = (known ?? placings.start(id))?.placing;
    const held = placing === undefined ? 0 : Math.min(length, placing.bytes - offset);
    if (placing === undefined || held <= 0 || !placing.serves(version, offset, held)) {
      return this.#fromRange(id, offset, length, options);
    }
    if (known !== undefined) this.#joinedReads += 1;
    const head = placing.read(offset, held, options.signal);
    if (held === length) return head;
    const rest = this.#fromRange(id, offset + held, length - held, options);
    const [first, second] = await Promise.all([head, rest]);
    return join(first, second);
  }

  #fromRange(id: number, offset: number, length: number, options: OperationOptions): Promise<Uint8Array> {
    const { host, ranges } = this.#parts;
    const { namespace } = host;
    const range = { id, key: namespace.keyOf(id), version: namespace.versionOf(id), offset, length };
    if (ranges.covers(range)) this.#joinedReads += 1;
    return ranges.read(range, options.signal);
  }

  get #parts(): Parts {
    invariant(this.#attached !== undefined, 'a placement handler was used before its hierarchy started');
    return this.#attached;
  }
}

/** A failure of the source, where one of the tier could be meant. */
class SourceFailure extends Error {}

async function asOutcome(bytes: Promise<Uint8Array> | undefined): Promise<Uint8Array | undefined> {
  try {
    return await bytes;
  } catch (cause) {
    throw new SourceFailure('the source failed', { cause });
  }
}

function unwrap(bytes: Uint8Array | undefined): Uint8Array {
  invariant(bytes !== undefined, 'a read of two parts gave one');
  return bytes;
}

function join(head: Uint8Array, tail: Uint8Array): Uint8Array {
  const bytes = memoryFor(head.byteLength + tail.byteLength);
  bytes.set(head);
  bytes.set(tail, head.byteLength);
  return bytes;
}
