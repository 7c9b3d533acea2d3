import {
  isTieredError,
  parseBytes,
  type ByteSize,
  type OperationOptions,
  type Placement,
  type PlacementHost,
  type PlacementStats,
  type Tier,
} from '@tiered/core';
import { configError, invariant, raceAbort, closedError } from '@tiered/core/internal';
import pLimit, { type LimitFunction } from 'p-limit';
import type { Fetch } from './fetch.js';
import { Fetches } from './fetches.js';
import { firstFit, type PlacementPolicy } from './policy.js';
import { QuotaLedger, type Reservation } from './quota-ledger.js';

/** Options of `PlacementHandler`. */
export interface PlacementHandlerOptions {
  /** Where an object is to live. Default: `firstFit`, the optimum where every object is read once an epoch. */
  readonly policy?: PlacementPolicy;
  /** Copies to tiers under way at the same time, at least 1. Default: 6, the paper's pool. */
  readonly concurrency?: number;
  /**
   * Bytes of a request to the source when a whole object is fetched. Default: 4 MiB: large enough that a few ms of
   * latency do not count, small enough that a reader of the beginning does not wait for the rest.
   */
  readonly chunk?: ByteSize;
  /**
   * Bytes of memory for objects on their way to a tier. Reads that would need more are served without placing, and an
   * object larger than this is never placed. Default: 256 MiB, twice the shards of the paper.
   */
  readonly memory?: ByteSize;
}

/** What a handler works with once its hierarchy has started. */
interface Parts {
  readonly host: PlacementHost;
  readonly ledger: QuotaLedger;
  readonly fetches: Fetches;
}

const NOTHING_YET: PlacementStats = {
  sourceReads: 0,
  sourceBytes: 0,
  joinedReads: 0,
  placed: 0,
  declined: 0,
  failed: 0,
  fetching: 0,
  fetchingBytes: 0,
  tiers: [],
};

/** Faults of an object, not of the tier: no other object would meet them. */
const FAULTS_OF_THE_OBJECT = ['TIERED_KEY_INVALID', 'TIERED_KEY_CONFLICT'] as const;

/** Failures of a write after which there is surely nothing on the tier; after others the answer may have got lost. */
const NOTHING_PUBLISHED = [
  ...FAULTS_OF_THE_OBJECT,
  'TIERED_NO_SPACE',
  'TIERED_PERMISSION',
  'TIERED_READ_ONLY',
  'TIERED_SIZE_MISMATCH',
  'TIERED_UNAVAILABLE',
] as const;

/**
 * Places objects on tiers while they are read (MONARCH, CCGrid'22, section III).
 *
 * **Problem.** The first epoch has to read everything from the source anyway; later epochs should not. Copying must
 * not delay the reads that cause it, must not ask the source twice for a byte, and must not overfill a tier.
 *
 * **Moving parts.** The *policy* names a level. The *ledger* reserves the object's bytes there before anything is
 * fetched. A *fetch* brings the object from the source into memory, chunk by chunk; readers of the object join it and
 * are served from that memory, so the source sees one request for each byte. A *copy*, one of `concurrency` in the
 * pool, drives the fetch to its end and streams it to the tier, which publishes it atomically; only then the
 * namespace points to it. An object without a place is fetched too, but only the range its reader wants.
 *
 * **Invariants.** Used and reserved bytes of a tier never exceed its quota. An object has at most one copy under way,
 * and none while an old copy of it is being removed. The memory of objects on their way is at most `memory`. A reader
 * waits for the chunks up to its own end and for nothing else: neither for the pool nor for a tier. What was fetched
 * of one version of an object is never served or published as another. After `close` there is no fetch, no copy and
 * no reservation.
 *
 * **Not done here.** Reads at random offsets of an object that is being fetched wait for the chunks before them.
 * Objects larger than `memory` are not placed. Tiers start empty: what an earlier process left cannot be trusted
 * without a proof, and is deleted at start.
 */
export class PlacementHandler implements Placement {
  readonly #policy: PlacementPolicy;
  readonly #pool: LimitFunction;
  readonly #chunkBytes: number;
  readonly #memoryBytes: number;
  readonly #copies = new Map<number, Promise<void>>();
  readonly #removals = new Map<number, Promise<void>>();
  /** Levels that cannot hold an object whatever room they have, as `level id`. */
  readonly #refused = new Set<string>();
  /** Copies that are not served any more and could not be deleted: their bytes are not free. */
  readonly #undeleted = new Map<number, { readonly level: number; readonly free: () => void }>();
  readonly #counts = { joinedReads: 0, placed: 0, declined: 0, failed: 0 };
  readonly #closing = new AbortController();
  #attached: Parts | undefined;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. */
  constructor(options: PlacementHandlerOptions = {}) {
    const { policy = firstFit, concurrency = 6, chunk = '4MiB', memory = '256MiB' } = options;
    if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
      throw configError('concurrency', 'a whole number of at least 1', concurrency);
    }
    this.#policy = policy;
    this.#pool = pLimit(concurrency);
    this.#chunkBytes = parseBytes(chunk, 'chunk');
    if (this.#chunkBytes === 0) throw configError('chunk', 'at least one byte', chunk);
    this.#memoryBytes = parseBytes(memory, 'memory');
  }

  async start(host: PlacementHost, { signal }: OperationOptions): Promise<void> {
    if (this.#attached !== undefined)
      throw configError('placement', 'a handler that serves no other hierarchy', 'one in use');
    const ledger = new QuotaLedger(host.tiers.map(({ quotaBytes }) => quotaBytes));
    this.#attached = { host, ledger, fetches: new Fetches(host.source) };
    for (const tier of host.tiers) await empty(tier, signal);
  }

  async read(id: number, offset: number, length: number, { signal }: OperationOptions): Promise<Uint8Array> {
    this.#closing.signal.throwIfAborted();
    const { host, fetches } = this.#parts;
    const version = host.namespace.versionOf(id);
    const joined = fetches.covering(id, version, offset, length);
    if (joined !== undefined) this.#counts.joinedReads += 1;
    const key = host.namespace.keyOf(id);
    const fetch =
      joined ??
      this.#startPlacing(id) ??
      fetches.start({ id, key, version, offset, length, chunkBytes: length });
    return fetch.read(offset, length, signal);
  }

  async place(id: number, { signal }: OperationOptions): Promise<number> {
    const { host, fetches } = this.#parts;
    for (;;) {
      this.#closing.signal.throwIfAborted();
      const copy = this.#copies.get(id);
      if (copy !== undefined) {
        await raceAbort(copy, signal);
        this.#closing.signal.throwIfAborted();
        return host.namespace.levelOf(id);
      }
      const memory = this.#memoryFor(id);
      const busy = this.#removals.get(id) ?? (memory === 'later' ? fetches.oneEnded() : undefined);
      if (busy !== undefined) await raceAbort(busy, signal);
      else if (this.#startPlacing(id) === undefined && !this.#removals.has(id))
        return host.namespace.levelOf(id);
    }
  }

  lost(id: number, level: number): void {
    const { host, ledger } = this.#parts;
    const bytes = host.namespace.sizeOf(id);
    void this.#startRemoval(id, level, () => ledger.release(level, bytes));
  }

  async idle({ signal }: OperationOptions): Promise<void> {
    while (this.#copies.size > 0 || this.#removals.size > 0) await raceAbort(this.#settled(), signal);
  }

  stats(): PlacementStats {
    if (this.#attached === undefined) return NOTHING_YET;
    const { host, ledger, fetches } = this.#attached;
    const tiers = host.tiers.map((_, level) => ({
      usedBytes: ledger.usedBytes(level),
      reservedBytes: ledger.reservedBytes(level),
    }));
    return { ...this.#counts, ...fetches.stats, tiers };
  }

  async close(): Promise<void> {
    const reason = closedError();
    this.#closing.abort(reason);
    await this.#attached?.fetches.cancelAll(reason);
    await this.#settled();
    // What could not be deleted is deleted by the next start.
    for (const { free } of this.#undeleted.values()) free();
    this.#undeleted.clear();
  }

  /** The copies and removals under way at this moment have ended. */
  async #settled(): Promise<void> {
    await Promise.all([...this.#copies.values(), ...this.#removals.values()]);
  }

  /** Begins to fetch and copy the whole object, if the policy has a place for it and there is memory. */
  #startPlacing(id: number): Fetch | undefined {
    const { host, fetches } = this.#parts;
    // A copy that cannot be read at this moment is still a copy: it keeps its bytes, and is not made twice.
    const placed = host.namespace.levelOf(id) < host.tiers.length;
    if (placed || this.#copies.has(id) || this.#removals.has(id) || this.#removeAgain(id)) return undefined;
    const key = host.namespace.keyOf(id);
    const length = host.namespace.sizeOf(id);
    const version = host.namespace.versionOf(id);
    const reservation = this.#memoryFor(id) === 'now' ? this.#reserve(id, key, length) : undefined;
    if (reservation === undefined) {
      this.#counts.declined += 1;
      return undefined;
    }
    const fetch = startOrGiveUp(() =>
      fetches.start({ id, key, version, offset: 0, length, chunkBytes: this.#chunkBytes }),
    );
    if (fetch === undefined) {
      reservation.cancel();
      this.#counts.declined += 1;
      return undefined;
    }
    // Held from now on, and not from its turn in the pool: readers may have come and gone by then.
    const letGo = fetch.hold();
    const copy = this.#pool(() => this.#copy(id, version, fetch, reservation)).finally(() => {
      this.#copies.delete(id);
      letGo();
    });
    this.#copies.set(id, copy);
    return fetch;
  }

  /** Whether there is memory for the whole object: now, when others are done, or never. */
  #memoryFor(id: number): 'now' | 'later' | 'never' {
    const { host, fetches } = this.#parts;
    const size = host.namespace.sizeOf(id);
    if (size > this.#memoryBytes) return 'never';
    return fetches.stats.fetchingBytes + size <= this.#memoryBytes ? 'now' : 'later';
  }

  #reserve(id: number, key: string, size: number): Reservation | undefined {
    const { host, ledger } = this.#parts;
    const rooms = host.tiers
      .filter((tier) => tier.writing.inService && !this.#refused.has(`${tier.level} ${id}`))
      .map(({ level, quotaBytes }) => ({ level, quotaBytes, freeBytes: ledger.freeBytes(level) }));
    const level = this.#policy({ key, size }, rooms);
    if (level === undefined) return undefined;
    const room = rooms.find((one) => one.level === level);
    const reservation = room && ledger.reserve(level, size);
    if (reservation !== undefined) return reservation;
    throw configError('policy', `a level with room for ${size} bytes, or undefined`, level);
  }

  /** Copies an object to its tier. Never rejects: a copy that fails costs speed, not data. */
  async #copy(id: number, version: string, fetch: Fetch, reservation: Reservation): Promise<void> {
    const { host } = this.#parts;
    const { level, bytes } = reservation;
    const tier = tierAt(host, level);
    const key = host.namespace.keyOf(id);
    const free = () => reservation.cancel();
    try {
      this.#closing.signal.throwIfAborted();
      await tier.driver.write(key, fetch.pieces(), { size: bytes, signal: this.#closing.signal });
      host.tierWorked(tier);
    } catch (error) {
      const nothingThere =
        fetch.failure !== undefined || NOTHING_PUBLISHED.some((code) => isTieredError(error, code));
      if (!this.#closing.signal.aborted) this.#copyFailed(id, tier, fetch, error);
      if (nothingThere || this.#closing.signal.aborted) free();
      else await this.#startRemoval(id, level, free);
      return;
    }
    if (host.namespace.versionOf(id) !== version) {
      // The object became another one while its old content was copied; the bytes stay reserved until they are gone.
      await this.#startRemoval(id, level, free);
      return;
    }
    reservation.commit();
    this.#counts.placed += 1;
    host.publish(id, level);
  }

  #copyFailed(id: number, tier: Tier, fetch: Fetch, error: unknown): void {
    const { host } = this.#parts;
    this.#counts.failed += 1;
    if (FAULTS_OF_THE_OBJECT.some((code) => isTieredError(error, code)))
      this.#refused.add(`${tier.level} ${id}`);
    else if (fetch.failure === undefined) host.tierFault(tier, 'write', host.namespace.keyOf(id), error);
    host.placementFailed(id, tier.level, error);
  }

  /** Deletes a copy. Its bytes become free only if that works: what is still on the tier still fills it. */
  #startRemoval(id: number, level: number, free: () => void): Promise<void> {
    const { host } = this.#parts;
    const tier = tierAt(host, level);
    const key = host.namespace.keyOf(id);
    // Not under the signal of closing: close() waits, and leaves nothing half done.
    const removal = tier.driver
      .delete(key, {})
      .then(free, (error: unknown) => {
        this.#undeleted.set(id, { level, free });
        host.tierFault(tier, 'delete', key, error);
      })
      .finally(() => this.#removals.delete(id));
    this.#removals.set(id, removal);
    return removal;
  }

  /** Tries again to delete a copy that could not be deleted; whether there was one. */
  #removeAgain(id: number): boolean {
    const undeleted = this.#undeleted.get(id);
    if (undeleted === undefined) return false;
    if (tierAt(this.#parts.host, undeleted.level).writing.inService) {
      this.#undeleted.delete(id);
      void this.#startRemoval(id, undeleted.level, undeleted.free);
    }
    return true;
  }

  get #parts(): Parts {
    invariant(this.#attached !== undefined, 'a placement handler was used before its hierarchy started');
    return this.#attached;
  }
}

/** Deletes everything on a tier. */
async function empty(tier: Tier, signal: AbortSignal | undefined): Promise<void> {
  const keys: string[] = [];
  for await (const page of tier.driver.list({ signal })) for (const { key } of page) keys.push(key);
  for (const key of keys) await tier.driver.delete(key, { signal });
}

/** A fetch, unless this process cannot have the memory for it: then the object stays where it is. */
function startOrGiveUp(start: () => Fetch): Fetch | undefined {
  try {
    return start();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function tierAt(host: PlacementHost, level: number): Tier {
  const tier = host.tiers[level];
  invariant(tier !== undefined, `there is no level ${level}`);
  return tier;
}
