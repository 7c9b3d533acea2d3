import { isTieredError, type DropReason, type OperationOptions, type Tier } from '@tiered/core';
import type { ObjectRef, PlacementHost } from '@tiered/core/placement';
import { ABSENT, type OperationScope } from '@tiered/core/internal';
import type { StoreParts } from '../store/open-store.js';
import type { Claim, Copy, TierStore } from '../tier/tier-store.js';
import { takeOver } from './adoption.js';
import { isLasting, TierStores } from './tier-stores.js';
import { Removals } from './removals.js';
import { VerifiedReader } from './verified-reader.js';

/** What the index of copies works with. */
export interface CopyIndexParts extends StoreParts {
  /** Runs checks of copies. Several readers may wait for one check, and all may leave. */
  readonly tierReads: OperationScope;
}

/**
 * The copies on all tiers, as this process knows them: which copy of an object is served, and how it is read.
 * An object has one copy that is served.
 *
 * Copies that another process made, or an earlier one, are adopted when they are asked for, and meanwhile in
 * the background. Copies are checked while they are read, and removed when they must not be served any more.
 */
export class CopyIndex {
  readonly #parts: CopyIndexParts;
  readonly #host: PlacementHost;
  /** Readers of copies that are partial, or not checked yet. */
  readonly #readers = new Map<number, VerifiedReader>();
  readonly #looks = new Map<number, Promise<boolean>>();
  /** Objects with a copy on a slower tier besides the one that is served. */
  readonly #covered = new Set<number>();
  /** The copies that are being deleted. */
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
   * the others are adopted when they are asked for. Copies beyond a quota leave later, in the background.
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

  /** Removals under way, and the work of the tiers. */
  get underWay(): Promise<void>[] {
    return [...this.removals.underWay, ...this.stores.underWay];
  }

  /** Serves a copy that was published just now, or moved. False if the quota was lowered meanwhile. */
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

  /** Whether `isHeld` is worth asking. Costs nothing. */
  mayBeHeld(id: number): boolean {
    return this.#isServed(id) || this.stores.mayHoldMore || this.#covered.has(id);
  }

  /**
   * An object was moved up, and its slower copy stayed. That copy serves again when the faster one is
   * dropped.
   */
  cover(id: number): void {
    this.#covered.add(id);
  }

  /** Whether a copy of the object may have stayed on a slower tier than the one that serves it. */
  isCovered(id: number): boolean {
    return this.#covered.has(id);
  }

  /**
   * Whether a tier holds the object, or a part of it. If this process does not know of a copy yet, this costs
   * a look at the index of the tier.
   */
  async isHeld(object: ObjectRef): Promise<boolean> {
    const { id } = object;
    if (this.#isServed(id)) return true;
    if (!this.stores.mayHoldMore && !this.#covered.has(id)) return false;
    // A look that began earlier may have missed a copy whose turn to be fetched has ended since.
    if (this.stores.haveTurns && (await this.#looks.get(id)) === true) return true;
    return this.#look(object);
  }

  /** The reader of a copy that needs one, because it is not whole, or not checked yet. */
  async readerFor(object: ObjectRef): Promise<VerifiedReader | undefined> {
    const { id } = object;
    const level = this.#level(id);
    if (!this.#isServed(id) || this.#host.namespace.directLevelOf(id) === level) return undefined;
    if (!this.#readers.has(id)) await this.#look(object);
    return this.#readers.get(id);
  }

  /** As `readerFor`. For a copy that needs none, and whose tier is in service, one that checks it again. */
  async servedBy(object: ObjectRef): Promise<VerifiedReader | undefined> {
    const reader = await this.readerFor(object);
    if (reader !== undefined) return reader;
    const level = this.#level(object.id);
    return this.#host.tiers[level]?.reading.inService === true ? this.verifying(object, level) : undefined;
  }

  /** As `readerFor`, but only if the reader exists already. */
  knownReader(id: number): VerifiedReader | undefined {
    return this.#readers.get(id);
  }

  /**
   * A reader of an object's copy on a level that compares every chunk with its sum, whoever wrote the copy.
   */
  async verifying(object: ObjectRef, level: number): Promise<VerifiedReader | undefined> {
    const copy = await this.copyOn(object, level);
    return copy && this.#readerOf(this.stores.at(level), copy, false);
  }

  /** Once all of a copy was found right, the read path serves it without this index. */
  settle(id: number, reader: VerifiedReader): void {
    if (!reader.isChecked || !isWhole(reader.copy) || this.#readers.get(id) !== reader) return;
    this.#readers.delete(id);
    this.#host.publish(id, { level: reader.tier.level, direct: true, tag: reader.copy.tag });
  }

  /**
   * Stops serving the copy of an object on a level. From the next read on a copy on a slower level serves, if
   * it is of that version.
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

  /** Deletes the copies of an object on a level, none of which is served any more. */
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

  /** The copy of an object on a level, of the version that is known, even if another copy is served. */
  async copyOn({ id, key }: ObjectRef, level: number): Promise<Copy | undefined> {
    const copies = await this.stores.at(level).find(key);
    const isLeaving = ({ name }: Copy) => this.removals.isLeaving(key, level, name);
    return copies.find((copy) => this.matches(id, copy) && !isLeaving(copy));
  }

  /** Whether a copy is of the version of the object that is known. */
  matches(id: number, { content, version }: Copy): boolean {
    const { namespace, versions } = this.#host;
    if (content === undefined || content.size !== namespace.sizeOf(id)) return false;
    return versions === 'ignore' || version === namespace.versionOf(id);
  }

  /**
   * Deletes a copy, which is then not served any more. Never rejects: what could not be deleted is tried
   * again later.
   */
  remove(store: TierStore, copy: Copy): Promise<void> {
    this.#withdraw(store.tier.level, copy);
    return this.removals.track(copy.key, store.tier.level, this.#remove(store, copy));
  }

  /** Gives the bytes of a claim back, and deletes what may lie under its name. Never rejects. */
  release(claim: Claim, key: string): Promise<void> {
    const { tier } = claim.store;
    const released = this.removals.delete(tier, key, claim.name, () => claim.release(), true);
    return this.removals.track(key, tier.level, released);
  }

  /** Leaves all tiers, once nothing is under way. */
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

  /**
   * Adopts a copy that another process made, or an earlier one. All who ask at the same time share one look.
   */
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

  /** The record of a copy is damaged, so the copy cannot be trusted. */
  #damaged(store: TierStore, copy: Copy): void {
    this.counts.damaged += 1;
    void this.remove(store, copy);
    this.#host.dropped(copy.key, store.tier.level, 'damaged');
  }

  /** Serves a copy, if it is of the version of the object that is known. */
  #adopt(id: number, store: TierStore, copy: Copy): void {
    const { level } = store.tier;
    const isLeaving = this.removals.isLeaving(copy.key, level, copy.name);
    if (!this.matches(id, copy) || isLeaving || !this.stores.isOpen(store)) return;
    const present = this.#level(id);
    if (present < level) {
      // The object is on a faster tier already, and has at most one copy that lasts.
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

  /** A faster tier has the object, so the copy that was served is dropped. */
  #leaveFor(id: number, level: number): void {
    this.drop(this.#host.namespace.objectOf(id), level, 'removed');
  }

  /** A copy is being removed, or is gone: it is served no more, if it is the one that is served. */
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

  /** Adopts the copies that a tier holds already. Removes those that are outdated, or of no known object. */
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

  /** As `#adopt`, but makes no reader: that is made when the copy is read. */
  #takeIn(id: number, store: TierStore, copy: Copy): void {
    const present = this.#level(id);
    this.#adopt(id, store, copy);
    if (present !== store.tier.level && isWhole(copy)) this.#readers.delete(id);
  }

  #remove(store: TierStore, copy: Copy): Promise<void> {
    return this.removals.delete(store.tier, copy.key, copy.name, () => store.remove(copy));
  }

  /** Forgets all copies of a level: they may not be there any more. */
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

/** Whether a copy holds all of its object. */
function isWhole({ content }: Copy): boolean {
  return content !== undefined && content.bytes === content.size;
}
