import { isTieredError, type DropReason, type OperationOptions, type Tier } from '@tiered/core';
import type { ObjectRef, PlacementHost } from '@tiered/core/placement';
import { ABSENT, type OperationScope } from '@tiered/core/internal';
import type { StoreParts } from '../store/open-store.js';
import type { Claim, Copy, TierStore } from '../tier/tier-store.js';
import { takeOver } from './adoption.js';
import { isLasting, TierStores } from './tier-stores.js';
import { Removals } from './removals.js';
import { VerifiedReader } from './verified-reader.js';

/** Dependencies of `CopyIndex`. */
export interface CopyIndexParts extends StoreParts {
  /** Runs checks of copies. Several readers may wait for one check, and all may leave. */
  readonly tierReads: OperationScope;
}

/**
 * The copies on all tiers as known to this process: which copy of an object is served, and how it is read.
 * Only one copy of an object is served.
 *
 * Copies of other or earlier processes are adopted on demand, and meanwhile in the background. Copies are
 * checked while they are read, and removed once they must not be served any more.
 */
export class CopyIndex {
  readonly #parts: CopyIndexParts;
  readonly #host: PlacementHost;
  /** Readers of copies that are partial, or not checked yet. */
  readonly #readers = new Map<number, VerifiedReader>();
  readonly #looks = new Map<number, Promise<boolean>>();
  /** Objects with a copy on a slower tier besides the one that is served. */
  readonly #covered = new Set<number>();
  /** Copies that are being deleted. */
  readonly removals: Removals;
  /** The tiers that the copies are on. */
  readonly stores: TierStores;
  readonly counts = { adopted: 0, damaged: 0, outdated: 0 };

  private constructor(parts: CopyIndexParts) {
    this.#parts = parts;
    this.#host = parts.host;
    this.removals = new Removals(parts.host, parts.closing);
    this.stores = new TierStores({
      ...parts,
      takeOver: (store) => this.#takeOver(store),
      onNotTakenOver: ({ tier }, error) => this.#fault(tier, '', error),
    });
    parts.events.on('left', (level, copy) => this.#withdraw(level, copy));
    parts.events.on('void', (level) => this.#forgetAll(level));
  }

  /**
   * Opens the tiers. A tier that does not work at the moment is skipped, and opened again later. Copies on
   * the others are adopted on demand. Copies beyond a quota are removed later, in the background.
   */
  static async open(parts: CopyIndexParts, options: OperationOptions): Promise<CopyIndex> {
    const copies = new CopyIndex(parts);
    try {
      await copies.stores.open(options);
      options.signal?.throwIfAborted();
    } catch (error) {
      await copies.close();
      throw error;
    }
    return copies;
  }

  /** Removals in progress, and the work of the tiers. */
  get underWay(): Promise<void>[] {
    return [...this.removals.underWay, ...this.stores.underWay];
  }

  /** Serves a newly published or moved copy. False if the quota was lowered meanwhile. */
  placed(id: number, { store }: Pick<Claim, 'store'>, copy: Copy): boolean {
    if (store.excessBytes > 0) {
      void this.remove(store, copy);
      return false;
    }
    const direct = isWhole(copy);
    if (direct) this.#readers.delete(id);
    else this.#readers.set(id, this.#readerOf(store, copy, true));
    this.#host.publish(id, { level: store.tier.level, direct, tag: copy.tag });
    return true;
  }

  /** Whether `isHeld` is worth a call. Costs nothing. */
  mayBeHeld(id: number): boolean {
    return this.#isServed(id) || this.stores.mayHoldMore || this.#covered.has(id);
  }

  /**
   * Records that an object was promoted and its slower copy stayed. That copy serves again once the faster
   * one is dropped.
   */
  cover(id: number): void {
    this.#covered.add(id);
  }

  /** Whether a copy of the object may have stayed on a slower tier than the one that serves it. */
  isCovered(id: number): boolean {
    return this.#covered.has(id);
  }

  /**
   * Whether a tier holds the object, or a part of it. Costs a lookup in the tier's index if this process does
   * not know a copy yet.
   * @param isAnew Whether to begin a lookup of its own: one that began earlier may have missed a copy whose
   * turn to be fetched has ended since. Default: lookups at the same time are shared.
   */
  async isHeld(object: ObjectRef, isAnew = false): Promise<boolean> {
    const { id } = object;
    if (this.#isServed(id)) return true;
    if (!this.stores.mayHoldMore && !this.#covered.has(id)) return false;
    if (isAnew && (await this.#looks.get(id)) === true) return true;
    return this.#look(object);
  }

  /** The reader of a copy that needs one, because it is partial or not checked yet. */
  async readerFor(object: ObjectRef): Promise<VerifiedReader | undefined> {
    const { id } = object;
    const level = this.#level(id);
    if (!this.#isServed(id) || this.#host.namespace.directLevelOf(id) === level) return undefined;
    if (!this.#readers.has(id)) await this.#look(object);
    return this.#readers.get(id);
  }

  /**
   * As `readerFor`. A copy that needs no reader, and whose tier is in service, gets one that checks it again.
   */
  async servedBy(object: ObjectRef): Promise<VerifiedReader | undefined> {
    const reader = await this.readerFor(object);
    if (reader !== undefined) return reader;
    const level = this.#level(object.id);
    return this.#host.tiers[level]?.reading.inService === true ? this.verifying(object, level) : undefined;
  }

  /** As `readerFor`, but only if the reader already exists. */
  knownReader(id: number): VerifiedReader | undefined {
    return this.#readers.get(id);
  }

  /**
   * A reader of an object's copy on a level. It compares every chunk with its sum, even if this process wrote
   * the copy.
   */
  async verifying(object: ObjectRef, level: number): Promise<VerifiedReader | undefined> {
    const copy = await this.copyOn(object, level);
    return copy && this.#readerOf(this.stores.at(level), copy, false);
  }

  /** Lets the read path serve a copy without this index, once the whole copy was verified. */
  settle(id: number, reader: VerifiedReader): void {
    if (!reader.isChecked || !isWhole(reader.copy) || this.#readers.get(id) !== reader) return;
    this.#readers.delete(id);
    this.#host.publish(id, { level: reader.tier.level, direct: true, tag: reader.copy.tag });
  }

  /**
   * Stops serving the copy of an object on a level. From the next read on, a copy on a slower level serves if
   * it has that version.
   */
  drop(object: ObjectRef, level: number, reason: DropReason): void {
    const { id, key } = object;
    this.#readers.delete(id);
    if (this.#level(id) === level) this.#host.withdraw(id);
    if (reason === 'damaged' || reason === 'missing') this.counts.damaged += 1;
    if (reason === 'outdated') this.counts.outdated += 1;
    this.removeFrom(object, level);
    this.#host.dropped(key, level, reason);
    if (reason !== 'outdated' || !this.isCovered(id)) return;
    for (const { level: slower } of this.#host.tiers.slice(level + 1)) this.removeFrom(object, slower);
  }

  /** Deletes the copies of an object on a level. None of them is served any more. */
  removeFrom({ id, key, size }: ObjectRef, level: number): void {
    this.#parts.events.emit('removed', level, id);
    const store = this.stores.at(level);
    this.removals.count(level, size);
    const removal = store
      .find(key)
      .then((copies) => Promise.all(copies.map((copy) => this.#remove(store, copy))))
      .catch((error: unknown) => this.#fault(store.tier, key, error))
      .then(() => this.removals.count(level, -size));
    void this.removals.track(key, level, removal);
  }

  /** The copy of an object on a level at the known version, even if another copy is served. */
  async copyOn({ id, key }: ObjectRef, level: number): Promise<Copy | undefined> {
    const copies = await this.stores.at(level).find(key);
    const isLeaving = ({ name }: Copy) => this.removals.isLeaving(key, level, name);
    return copies.find((copy) => this.matches(id, copy) && !isLeaving(copy));
  }

  /** Whether a copy has the known version of the object. */
  matches(id: number, { content, version }: Copy): boolean {
    const { namespace, versions } = this.#host;
    if (content === undefined || content.size !== namespace.sizeOf(id)) return false;
    return versions === 'ignore' || version === namespace.versionOf(id);
  }

  /** Deletes a copy and stops serving it. Never rejects: a failed deletion is retried later. */
  remove(store: TierStore, copy: Copy): Promise<void> {
    this.#withdraw(store.tier.level, copy);
    return this.removals.track(copy.key, store.tier.level, this.#remove(store, copy));
  }

  /** Gives the bytes of a claim back, and deletes the file under its name, if there is one. Never rejects. */
  release(claim: Claim, key: string): Promise<void> {
    const { tier } = claim.store;
    const released = this.removals.delete(tier, key, claim.name, () => claim.release(), true);
    return this.removals.track(key, tier.level, released);
  }

  /** Leaves all tiers, once nothing is in progress. */
  async close(): Promise<void> {
    while (this.underWay.length > 0) await Promise.all(this.underWay);
    await this.stores.close();
  }

  #level(id: number): number {
    return this.#host.namespace.levelOf(id);
  }

  /** Whether a copy of the object is served. */
  #isServed(id: number): boolean {
    return this.#level(id) < this.#host.tiers.length;
  }

  #readerOf(store: TierStore, copy: Copy, isTrusted: boolean): VerifiedReader {
    const { checksum, tierReads } = this.#parts;
    return new VerifiedReader(copy, store.tier, checksum, tierReads, isTrusted);
  }

  /** Adopts a copy of another or an earlier process. Concurrent callers share one lookup. */
  #look(object: ObjectRef): Promise<boolean> {
    const { id } = object;
    let look = this.#looks.get(id);
    if (look === undefined) {
      look = this.#lookOnce(object).finally(() => this.#looks.delete(id));
      this.#looks.set(id, look);
    }
    return look;
  }

  async #lookOnce({ id, key }: ObjectRef): Promise<boolean> {
    for (const store of this.stores.all) {
      const isWorthIt = store.mayHoldMore || this.#covered.has(id) || this.#level(id) === store.tier.level;
      if (!isWorthIt) continue;
      try {
        for (const copy of await store.find(key)) {
          if (copy.content === undefined) this.#damaged(store, copy);
          else this.#adopt(id, store, copy);
        }
      } catch (error) {
        if (!this.#parts.closing.aborted) this.#fault(store.tier, key, error);
      }
    }
    return this.#isServed(id);
  }

  /** Removes a copy whose record is damaged: it cannot be trusted. */
  #damaged(store: TierStore, copy: Copy): void {
    this.counts.damaged += 1;
    void this.remove(store, copy);
    this.#host.dropped(copy.key, store.tier.level, 'damaged');
  }

  /** Serves a copy, if it has the known version of the object. */
  #adopt(id: number, store: TierStore, copy: Copy): void {
    const { level } = store.tier;
    const isLeaving = this.removals.isLeaving(copy.key, level, copy.name);
    if (!this.matches(id, copy) || isLeaving || !this.stores.isOpen(store)) return;
    const present = this.#level(id);
    if (present < level) {
      // The object is already on a faster tier, and has at most one copy that outlives this process.
      if (isLasting(this.stores.at(present).tier)) void this.remove(store, copy);
      else this.#covered.add(id);
      return;
    }
    if (present === level && (this.#readers.has(id) || this.#host.namespace.directLevelOf(id) === level))
      return;
    this.#covered.delete(id);
    if (present > level) {
      if (this.#isServed(id)) this.#leaveFor(id, present);
      this.counts.adopted += 1;
    }
    this.#readers.set(id, this.#readerOf(store, copy, false));
    this.#host.publish(id, { level, direct: false, tag: copy.tag });
    this.#parts.events.emit('adopted', level, id);
  }

  /** Drops the served copy, because a faster tier has the object. */
  #leaveFor(id: number, level: number): void {
    this.drop(this.#host.namespace.objectOf(id), level, 'removed');
  }

  /** Stops serving a copy that is being removed or is gone, if it is the served one. */
  #withdraw(level: number, { key, tag }: Copy): void {
    const id = this.#host.namespace.find(key);
    if (id === ABSENT) return;
    const isServedHere = this.#level(id) === level;
    // The level has another copy of the object.
    if (isServedHere && this.#host.tagOf(id) !== tag) return;
    this.#parts.events.emit('removed', level, id);
    if (!isServedHere) return;
    this.#readers.delete(id);
    this.#host.withdraw(id);
  }

  /** Adopts the copies that a tier already holds. Removes outdated ones, and those of no known object. */
  async #takeOver(store: TierStore): Promise<void> {
    const { level } = store.tier;
    await takeOver(store, this.#host, this.#parts.closing, {
      matches: (id, copy) => this.matches(id, copy),
      adopt: (id, copy) => this.#takeIn(id, store, copy),
      remove: (copy) => this.remove(store, copy),
      outdated: (copy) => {
        this.counts.outdated += 1;
        void this.remove(store, copy);
        this.#host.dropped(copy.key, level, 'outdated');
      },
    });
  }

  /** As `#adopt`, but makes no reader: it is made when the copy is read. */
  #takeIn(id: number, store: TierStore, copy: Copy): void {
    const present = this.#level(id);
    this.#adopt(id, store, copy);
    if (present !== store.tier.level && isWhole(copy)) this.#readers.delete(id);
  }

  #remove(store: TierStore, copy: Copy): Promise<void> {
    return this.removals.delete(store.tier, copy.key, copy.name, () => store.remove(copy));
  }

  /** Forgets all copies of a level, because they may not be there any more. */
  #forgetAll(level: number): void {
    const { namespace } = this.#host;
    for (let id = 0; id < namespace.count; id++) {
      if (namespace.levelOf(id) !== level) continue;
      this.#readers.delete(id);
      this.#host.withdraw(id);
    }
  }

  #fault(tier: Tier, key: string, error: unknown): void {
    if (!isTieredError(error)) throw error;
    this.#host.tierFault(tier, 'openIndex', key, error);
  }
}

/** Whether a copy holds its whole object. */
function isWhole({ content }: Copy): boolean {
  return content !== undefined && content.bytes === content.size;
}
