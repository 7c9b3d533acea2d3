import {
  isTieredError,
  parseBytes,
  type DropReason,
  type OperationOptions,
  type Placement,
  type PlacementHost,
  type PlacementRead,
  type PlacementStats,
  type ReadOutcome,
  type Tier,
} from '@tiered/core';
import {
  closedError,
  assertCounts,
  configError,
  invariant,
  loadChecksum,
  memoryFor,
  NOTHING_PLACED,
  OperationScope,
  readOutcome,
  raceAbort,
  sourceChanged,
} from '@tiered/core/internal';
import pLimit from 'p-limit';
import { allEnded } from './support/all-ended.js';
import type { CheckedCopy } from './copies/verified-reader.js';
import { ChunkSize } from './source/chunk-size.js';
import { Copies } from './copies/copy-index.js';
import { Haste } from './fill/haste.js';
import { MemoryBudget } from './source/memory-budget.js';
import { isCurrent } from './fill/fill-parts.js';
import type { Placing } from './fill/object-fill.js';
import type { PlacementHandlerOptions } from './options.js';
import { statsOf, type Parts } from './stats.js';
import { Placings } from './fill/fill-queue.js';
import { placeNow } from './fill/place-now.js';
import { firstFit } from './policies/first-fit.js';
import type { PlacementPolicy } from './policies/policy.js';
import { RangeReads, type Range } from './source/range-reads.js';
import { ServedReads, type Reading } from './source/served-reads.js';
import { SourceGate } from './source/gate.js';
import { SourceReads } from './source/reads.js';
import { Writers } from './fill/writers.js';

const NOTHING = Promise.resolve();

/** Times that a read waits while room is asked for, before it goes on without it. */
const MOST_ASKS = 16;

/** Calls of `place` that are looked at; the others wait for these. */
const PLACES_AT_A_TIME = 256;

const WHEN_BEHIND = ['wait', 'goOn'] as const;

/**
 * Places objects on tiers while they are read (MONARCH, CCGrid'22, section III).
 *
 * **Problem.** The first epoch has to read everything from the source anyway; later epochs should not. Copying must
 * not delay the reads that cause it, must not ask the source twice for a byte, must not overfill a tier, and what is on
 * a tier must be worth trusting after a crash.
 *
 * **Moving parts.** The *policy* names a level for an object that is read for the first time. The level's *store* grants
 * the bytes, from a lease of the index that all processes on that tier share. A *placing* then brings the object chunk by chunk,
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
  readonly #readersWait: boolean;
  readonly #closing = new AbortController();
  /** Reads of tiers beside those of the read path: their readers may leave, close() waits. */
  readonly #tierReads = new OperationScope();
  readonly #places = pLimit(PLACES_AT_A_TIME);
  #started = false;
  readonly #served = new ServedReads();
  #attached: Parts | undefined;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. */
  constructor(options: PlacementHandlerOptions = {}) {
    const { policy = firstFit, concurrency = 6, chunk, memory = '256MiB', whenBehind = 'wait' } = options;
    assertCounts({ concurrency });
    if (!WHEN_BEHIND.includes(whenBehind)) throw configError('whenBehind', '"wait" or "goOn"', whenBehind);
    this.#readersWait = whenBehind === 'wait';
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
    if (tiers.length > 0) this.#policy.assertLevels?.(tiers.length);
  }

  /** Opens the tiers, and begins to take over the copies that are of the present versions. */
  async start(host: PlacementHost, options: OperationOptions): Promise<void> {
    if (this.#started)
      throw configError('placement', 'a handler that serves no other hierarchy', 'one in use');
    this.#started = true;
    const checksum = await loadChecksum();
    const budget = new MemoryBudget(this.#memoryBytes, host.clock);
    const gate = new SourceGate(this.#concurrency);
    const source = new SourceReads(host, this.#chunkSize);
    const haste = new Haste(budget);
    const closing = this.#closing.signal;
    const copies = await Copies.open(host, checksum, this.#tierReads, { closing, haste }, options);
    const placings = new Placings({
      host,
      policy: this.#policy,
      copies,
      source,
      gate,
      budget,
      checksum,
      chunkSize: this.#chunkSize,
      writers: new Writers(this.#concurrency, host.clock),
      lanes: this.#concurrency,
      readersWait: this.#readersWait,
      tierReads: this.#tierReads,
      closing,
    });
    copies.onRoom = () => placings.goOn();
    copies.onAdopted = (known, level) => placings.adopted(known, level);
    copies.begin();
    this.#attached = { host, budget, haste, source, ranges: new RangeReads(source, gate), copies, placings };
  }

  read(id: number, offset: number, length: number, options: OperationOptions): Promise<Uint8Array> {
    return this.#served.count(options, (reading) => this.#read(id, offset, length, reading));
  }

  async #read(id: number, offset: number, length: number, options: Reading): Promise<Uint8Array> {
    this.#closing.signal.throwIfAborted();
    const copy = this.#mayBeHeld(id) ? await this.#usableCopy(id, options.signal) : undefined;
    if (copy === undefined || offset >= copy.copy.bytes) {
      const placing = await this.#placingOrLater(id, offset, length, options);
      if (placing === undefined)
        return this.#parts.ranges.read(this.#range(id, offset, length, options), options.signal);
      if (offset + length <= placing.bytes) return placing.read(offset, length, options.signal);
    }
    const target = memoryFor(length);
    await raceAbort(this.#readParts(id, offset, target, options), options.signal);
    return target;
  }

  async readInto(id: number, offset: number, target: Uint8Array, options: OperationOptions): Promise<void> {
    this.#closing.signal.throwIfAborted();
    await this.#served.count(options, (reading) => this.#readParts(id, offset, target, reading));
  }

  readMany(reads: readonly PlacementRead[], options: OperationOptions): Promise<readonly ReadOutcome[]> {
    // What is being placed is fetched in chunks that readers share: there is no batch to make of them.
    const readOne = ({ id, offset, target }: PlacementRead) =>
      readOutcome(this.readInto(id, offset, target, options).then(() => target.byteLength));
    return Promise.all(reads.map(readOne));
  }

  place(id: number, { signal }: OperationOptions): Promise<number> {
    // So many at a time: whoever waits for room looks again whenever a placing has ended.
    const calm = this.#parts.haste.begin();
    const placing = () => placeNow(this.#parts, this.#closing.signal, id, signal);
    return raceAbort(this.#places(placing).finally(calm), signal);
  }

  lost(id: number, level: number, reason: DropReason): void {
    this.#parts.placings.lost(id, level, reason);
  }

  hit(id: number, level: number): void {
    this.#parts.placings.hit(id, level);
  }

  async idle({ signal }: OperationOptions): Promise<void> {
    const { copies, placings, haste } = this.#parts;
    const calm = haste.begin();
    try {
      for (;;) {
        const underWay = [...copies.underWay, ...placings.underWay];
        if (underWay.length === 0) return;
        await raceAbort(Promise.all(underWay), signal);
      }
    } finally {
      calm();
    }
  }

  stats(): PlacementStats {
    if (this.#attached === undefined) return NOTHING_PLACED;
    return { ...this.#served.counts, ...statsOf(this.#attached) };
  }

  async close(): Promise<void> {
    const reason = closedError();
    this.#closing.abort(reason);
    if (this.#attached === undefined) return;
    const { ranges, copies, placings } = this.#attached;
    await Promise.all([ranges.close(reason), this.#tierReads.close(reason)]);
    await Promise.all(placings.underWay);
    await copies.close();
  }

  /** Whether a tier has a copy of an object, or it is worth looking whether one has. */
  #mayBeHeld(id: number): boolean {
    const { copies, placings } = this.#parts;
    return placings.of(id) === undefined && copies.mayBeHeld(id);
  }

  /** The copy that is to be read here, if there is one and its tier is in service. */
  async #usableCopy(id: number, signal: AbortSignal | undefined): Promise<CheckedCopy | undefined> {
    const { copies } = this.#parts;
    const held = copies.isHeld(id).then((isHeld) => (isHeld ? copies.toCheck(id) : undefined));
    const copy = await raceAbort(held, signal);
    this.#closing.signal.throwIfAborted();
    return copy?.tier.reading.inService === true ? copy : undefined;
  }

  /** Fills the target from wherever its parts are. */
  async #readParts(id: number, offset: number, target: Uint8Array, options: Reading): Promise<void> {
    const { namespace, source } = this.#parts.host;
    const copy = this.#mayBeHeld(id) ? await this.#usableCopy(id, options.signal) : undefined;
    if (copy !== undefined) {
      const size = namespace.sizeOf(id);
      if (await this.#fromCopy(id, copy, offset, target, options)) return;
      // The range was that of another object: whoever asked has to look anew how much there is.
      if (namespace.sizeOf(id) !== size)
        throw sourceChanged(source, namespace.keyOf(id), { offset, got: 0, wanted: target.byteLength });
    }
    const placing = await this.#placingOrLater(id, offset, target.byteLength, options);
    const held = placing === undefined ? 0 : Math.min(target.byteLength, placing.bytes - offset);
    if (placing === undefined || held <= 0) return this.#fromRange(id, offset, target, options);
    if (held === target.byteLength) return placing.readInto(target, offset, options.signal);
    // Beside the target: only when the rest has come as well it is sure that both are of one version.
    const head = new Uint8Array(held);
    const tail = target.subarray(held);
    try {
      await allEnded([
        placing.readInto(head, offset, options.signal),
        this.#fromRange(id, offset + held, tail, options),
      ]);
    } catch (error) {
      if (isTieredError(error, 'TIERED_SOURCE_CHANGED')) tail.fill(0);
      throw error;
    }
    target.set(head);
  }

  /** Reads what a copy has of a range, and the rest from the source. False if the copy failed. */
  async #fromCopy(
    id: number,
    copy: CheckedCopy,
    offset: number,
    target: Uint8Array,
    options: Reading,
  ): Promise<boolean> {
    const { host, copies, placings } = this.#parts;
    const held = Math.max(0, Math.min(target.byteLength, copy.copy.bytes - offset));
    // First, and not at the same time: if the source has another version by now, nothing of this one may be in the target.
    await this.#fromRange(id, offset + held, target.subarray(held), options);
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
        this.#copyFailed(id, copy, failure.error);
        return false;
      }
      options.by.copy = true;
      copies.settle(id, copy);
      host.tierServed(copy.tier, held);
      if (this.seesHits) placings.hit(id, copy.tier.level);
    }
    return true;
  }

  #copyFailed(id: number, { copy, tier }: CheckedCopy, error: unknown): void {
    const { host, copies, placings } = this.#parts;
    // One that was dropped or moved meanwhile is no fault of the tier.
    if (host.namespace.levelOf(id) !== tier.level || copies.checkedCopy(id)?.copy !== copy) return;
    placings.copyFailed(id, tier, error);
  }

  /**
   * As `placingFor`; where a level is just being asked for room, which takes milliseconds, that is waited for, and again if others
   * were granted it: else the object would be fetched once for its reader and once more for the tier.
   */
  async #placingOrLater(
    id: number,
    offset: number,
    length: number,
    reading: Reading,
  ): Promise<Placing | undefined> {
    const { copies, placings } = this.#parts;
    for (let asks = 0; ; asks++) {
      const placing = this.#placingFor(id, offset, length, reading);
      if (placing !== 'behind') return placing;
      if (copies.asked === undefined || !this.#readersWait || asks === MOST_ASKS) break;
      await raceAbort(copies.asked, reading.signal);
      this.#closing.signal.throwIfAborted();
    }
    placings.counts.behind += 1;
    placings.leaveBehind(id);
    return undefined;
  }

  /** A placing that serves the part of a range that its copy is to hold; one begins if the object has a place, unless tiers are behind. */
  #placingFor(id: number, offset: number, length: number, { by }: Reading): Placing | 'behind' | undefined {
    const { host, placings } = this.#parts;
    const known = placings.of(id);
    const running = known ?? placings.start(id);
    if (running === undefined || running === 'behind') return running;
    const { placing } = running;
    const held = Math.min(length, placing.bytes - offset);
    if (held <= 0 || !isCurrent(host, id, placing) || !placing.serves(offset, held)) return undefined;
    by[known === undefined ? 'own' : 'joined'] = true;
    return placing;
  }

  #fromRange(id: number, offset: number, target: Uint8Array, options: Reading): Promise<void> {
    if (target.byteLength === 0) return NOTHING;
    const range = this.#range(id, offset, target.byteLength, options);
    return this.#parts.ranges.readInto(range, target, options.signal);
  }

  #range(id: number, offset: number, length: number, { by }: Reading): Range {
    const { host, ranges } = this.#parts;
    const { namespace } = host;
    const range = { id, key: namespace.keyOf(id), version: namespace.versionOf(id), offset, length };
    by[ranges.covers(range) ? 'joined' : 'own'] = true;
    return range;
  }

  get #parts(): Parts {
    invariant(this.#attached !== undefined, 'a placement handler was used before its hierarchy started');
    return this.#attached;
  }
}
