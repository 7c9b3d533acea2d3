import { isTieredError, type Tier } from '@tiered/core';
import type { ObjectRef, PlacementHost } from '@tiered/core/placement';
import { ABSENT, type Checksum, type OperationScope } from '@tiered/core/internal';
import pLimit from 'p-limit';
import { VerifiedReader } from '../ledger/verified-reader.js';
import type { CopyIndex } from '../ledger/copy-index.js';
import type { MemoryBudget } from '../memory/memory-budget.js';
import type { Recency } from './recency.js';
import { rewritingRoom } from '../store/packed/packing.js';
import type { Copy, RewrittenCopy, TierStore } from '../tier/tier-store.js';

/** Concurrent reads of copies to move. */
const READS = 16;

/** Dependencies of `SegmentRoom`. */
export interface SegmentRoomParts {
  readonly host: PlacementHost;
  readonly copies: CopyIndex;
  readonly budget: MemoryBudget;
  readonly checksum: Checksum;
  readonly tierReads: OperationScope;
  readonly closing: AbortSignal;
  /** By level. */
  readonly recency: readonly Recency[];
  /** Called when a copy is evicted. */
  readonly onEvicted: () => void;
  /** Called when a tier failed to read a copy that is served. */
  readonly onFailed: (object: ObjectRef, tier: Tier, error: unknown) => void;
}

/**
 * Makes room on tiers whose copies are packed.
 *
 * **Problem.** Removing a copy from a segment does not free its bytes: the file stays as long as it holds any
 * other copy. If copies were evicted one by one, least recently read first, every segment would be half empty
 * before one is free.
 *
 * **How.** Whole segments are evicted, first the one with the least recently read copy. Its recently read
 * copies are *rewritten*: read, compared with their sums, and packed into a new segment. They are at most
 * half of the bytes, so each evicted segment frees at least half of its bytes. If there is no room for that,
 * or the tier fails, they are evicted with the others. Segments that become less than half full for other
 * reasons (objects changed, or were promoted) are rewritten under any policy. Packed tiers keep room for
 * rewriting one segment, which no other copy gets.
 *
 * **Invariants.** The new segment is claimed and written like any other. The index records the move of a copy
 * in one change. So if the process ends at any point, each copy is in one whole segment, and the quota counts
 * both. The old segment is deleted like any other, once all members have let go of its copies. One segment of
 * a level is rewritten at a time; its bytes count as memory.
 */
export class SegmentRoom {
  readonly #parts: SegmentRoomParts;
  /** By level. */
  readonly #underWay = new Map<number, Promise<void>>();
  readonly #wanted = new Map<number, number>();
  readonly #untidy = new Set<number>();
  readonly #reads = pLimit(READS);

  constructor(parts: SegmentRoomParts) {
    this.#parts = parts;
  }

  get underWay(): Promise<void>[] {
    return [...this.#underWay.values()];
  }

  /**
   * Evicts segments of a level until this many bytes are free, in addition to the bytes that are kept free.
   * Costs nothing if they already are.
   */
  makeRoom(level: number, bytes: number): void {
    const store = this.#parts.copies.stores.at(level);
    const largest = this.#parts.recency[level]?.largest ?? 0;
    const wanted = Math.max(bytes, largest, rewritingRoom(store.quotaBytes));
    if (store.freeBytes >= wanted) return;
    this.#wanted.set(level, Math.max(wanted, this.#wanted.get(level) ?? 0));
    this.#begin(level);
  }

  /** Rewrites segments of a level that are less than half full, as far as there is room. */
  tidy(level: number): void {
    this.#untidy.add(level);
    this.#begin(level);
  }

  #begin(level: number): void {
    if (this.#underWay.has(level) || this.#parts.closing.aborted) return;
    const store = this.#parts.copies.stores.at(level);
    const work = this.#work(store)
      .catch((error: unknown) => this.#fault(store, error))
      .finally(() => {
        this.#underWay.delete(level);
        if (this.#wanted.has(level) || this.#untidy.has(level)) this.#begin(level);
      });
    this.#underWay.set(level, work);
  }

  async #work(store: TierStore): Promise<void> {
    const { level } = store.tier;
    const wanted = this.#wanted.get(level);
    const isUntidy = this.#untidy.delete(level);
    this.#wanted.delete(level);
    if (wanted !== undefined) await this.#clear(store, wanted);
    if (isUntidy) await this.#tidy(store);
  }

  /**
   * Evicts segments until enough bytes are free, or until an evicted segment frees none: the tier must delete
   * it first.
   */
  async #clear(store: TierStore, wanted: number): Promise<void> {
    const recency = this.#parts.recency[store.tier.level];
    for (let before = -1; !this.#parts.closing.aborted;) {
      const free = store.freeBytes + (await store.leavingBytes());
      if (free >= wanted || free <= before) return;
      before = free;
      let hasLeft = false;
      while (!hasLeft) {
        const oldest = recency?.oldest();
        if (oldest === undefined) return;
        hasLeft = await this.#letGo(store, oldest.id);
      }
    }
  }

  /** Evicts the copy of an object, with its segment. False if there is none. */
  async #letGo(store: TierStore, id: number): Promise<boolean> {
    const { host, copies } = this.#parts;
    const copy = await copies.copyOn(host.namespace.objectOf(id), store.tier.level);
    if (copy === undefined) return false;
    const together = (await store.together?.(copy)) ?? [copy];
    const moved = await this.#rewrite(store, this.#recent(store, together));
    await Promise.all(together.filter((one) => !moved.has(one)).map((one) => this.#evict(store, one)));
    return true;
  }

  /** Recently read copies of a segment: the latest ones, up to half of the bytes. */
  #recent(store: TierStore, together: readonly Copy[]): Copy[] {
    const { host, recency } = this.#parts;
    const ofLevel = recency[store.tier.level];
    const latest = together
      .filter((copy) => this.#isServed(store, copy))
      .map((copy) => ({ copy, readAt: ofLevel?.recent(host.namespace.find(copy.key)) }))
      .filter(({ readAt }) => readAt !== undefined)
      .sort((a, b) => (b.readAt ?? 0) - (a.readAt ?? 0));
    let left = together.reduce((sum, { bytes }) => sum + bytes, 0) / 2;
    return latest.map(({ copy }) => copy).filter(({ bytes }) => (left -= bytes) >= 0);
  }

  async #evict(store: TierStore, copy: Copy): Promise<void> {
    const { host, copies, recency, onEvicted } = this.#parts;
    const { level } = store.tier;
    const isServed = this.#isServed(store, copy);
    if (isServed) recency[level]?.forget(host.namespace.find(copy.key));
    const removed = copies.remove(store, copy);
    onEvicted();
    if (isServed) host.dropped(copy.key, level, 'evicted');
    await removed;
  }

  async #tidy(store: TierStore): Promise<void> {
    for (let moved = 1; moved > 0;) {
      const sparse = (await store.sparse?.()) ?? [];
      moved = (await this.#rewrite(store, sparse)).size;
    }
  }

  /** Moves copies into a new segment, if there is room and memory for it. Returns the moved ones. */
  async #rewrite(store: TierStore, some: readonly Copy[]): Promise<Set<Copy>> {
    const { copies, budget, closing } = this.#parts;
    const moved = new Set<Copy>();
    const { level } = store.tier;
    const staying = some.filter(({ key, name }) => !copies.removals.isLeaving(key, level, name));
    // Once for reading, and once more for writing.
    const memory = 2 * staying.reduce((sum, { bytes }) => sum + bytes, 0);
    if (store.rewrite === undefined || memory === 0 || !budget.hasRoom(memory) || closing.aborted)
      return moved;
    budget.take(memory);
    try {
      const found = await this.#readAll(store, staying);
      const served = new Set(found.filter(({ copy }) => this.#isServed(store, copy)));
      const outcomes = found.length === 0 ? [] : ((await store.rewrite(found)) ?? []);
      for (const [i, outcome] of outcomes.entries()) {
        const one = found[i];
        if (one === undefined) continue;
        const { copy } = one;
        const now = outcome.status === 'fulfilled' ? outcome.value : await this.#found(store, copy);
        if (now === undefined) this.#withdraw(store, copy);
        else if (now !== copy) this.#moved(store, copy, now, served.has(one));
        if (outcome.status === 'fulfilled') moved.add(copy);
      }
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined && (await store.isCurrent())) this.#fault(store, failed.reason);
    } finally {
      budget.release(memory);
    }
    return moved;
  }

  /** Serves a verified and moved copy from its new place, if it is still to be served. */
  #moved(store: TierStore, before: Copy, now: Copy, wasServed: boolean): void {
    const { host, copies } = this.#parts;
    const { level } = store.tier;
    const id = host.namespace.find(now.key);
    if (id === ABSENT || !copies.stores.isOpen(store)) return;
    if (this.#isServed(store, before)) {
      if (!copies.placed(id, { store }, now)) host.withdraw(id);
      return;
    }
    // A caller that dropped the copy meanwhile knew only its old place.
    const isBeside = host.namespace.levelOf(id) < level && copies.isCovered(id);
    if (!copies.matches(id, now) || (wasServed && !isBeside)) void copies.remove(store, now);
  }

  /** Looks up a copy whose place is unknown: it may be where it was, elsewhere, or gone. */
  async #found(store: TierStore, before: Copy): Promise<Copy | undefined> {
    const found = await store.find(before.key);
    if (found.some(({ tag }) => tag === before.tag)) return before;
    return found.find(({ version }) => version === before.version);
  }

  #withdraw(store: TierStore, copy: Copy): void {
    const { host } = this.#parts;
    if (this.#isServed(store, copy)) host.withdraw(host.namespace.find(copy.key));
  }

  /** Whether this copy is the one that is served for its object. */
  #isServed({ tier: { level } }: TierStore, { key, tag }: Copy): boolean {
    const { host } = this.#parts;
    const id = host.namespace.find(key);
    return id !== ABSENT && host.namespace.levelOf(id) === level && host.tagOf(id) === tag;
  }

  /** Reads and verifies copies. Returns none if the tier fails. */
  async #readAll(store: TierStore, some: readonly Copy[]): Promise<RewrittenCopy[]> {
    const read = await Promise.all(some.map((copy) => this.#reads(() => this.#read(store, copy))));
    return read.includes('failed') ? [] : read.filter((one) => typeof one === 'object');
  }

  async #read(store: TierStore, copy: Copy): Promise<RewrittenCopy | 'failed' | undefined> {
    const { host, checksum, tierReads, closing, onFailed } = this.#parts;
    if (closing.aborted) return 'failed';
    if (copy.content === undefined) return undefined;
    const checked = new VerifiedReader(copy, store.tier, checksum, tierReads, false);
    const data = new Uint8Array(copy.bytes);
    try {
      await checked.into(data, 0, closing);
      return { copy, content: copy.content, data };
    } catch (error) {
      if (closing.aborted || !(await store.isCurrent())) return 'failed';
      if (this.#isServed(store, copy))
        onFailed(host.namespace.objectOf(host.namespace.find(copy.key)), store.tier, error);
      return isTieredError(error, 'TIERED_DATA_CORRUPT') ? undefined : 'failed';
    }
  }

  #fault({ tier }: TierStore, error: unknown): void {
    const { host, closing } = this.#parts;
    // Full storage is noticed and handled when the next copy is placed.
    const isExpected = isTieredError(error, 'TIERED_EXISTS') || isTieredError(error, 'TIERED_NO_SPACE');
    if (closing.aborted || isExpected) return;
    if (!isTieredError(error)) throw error;
    host.tierFault(tier, 'write', '', error);
  }
}
