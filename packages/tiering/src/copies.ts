import {
  isTieredError,
  type DropReason,
  type OperationOptions,
  type PlacementHost,
  type Tier,
} from '@tiered/core';
import { ABSENT, invariant, type Checksum, type OperationScope } from '@tiered/core/internal';
import { CheckedCopy } from './checked-copy.js';
import { Removals } from './removals.js';
import { ClosedStore } from './store/closed-store.js';
import { openStore } from './store/open-store.js';
import { PrivateStore } from './store/private-store.js';
import { SharedStore } from './store/shared-store.js';
import type { Candidate, Claim, Copy, TierStore } from './store/tier-store.js';

/** What a tier may fail with at start that does not pass by itself. */
const MISTAKES = ['TIERED_CONFIG_INVALID', 'TIERED_DIRECTORY_NOT_OURS', 'TIERED_KEY_INVALID'] as const;

/**
 * The copies on all tiers, as far as this process is concerned: taken over from an earlier process and from others when they
 * are asked for and, meanwhile, in the background; checked while they are read; and removed when they must not be served any
 * more. An object has one copy that is served.
 */
export class Copies {
  readonly #host: PlacementHost;
  readonly #checksum: Checksum;
  readonly #stores: TierStore[] = [];
  readonly #checked = new Map<number, CheckedCopy>();
  readonly #looks = new Map<number, Promise<boolean>>();
  readonly #removals: Removals;
  readonly #opening = new Map<number, Promise<void>>();
  readonly #background = new Set<Promise<void>>();
  readonly #tierReads: OperationScope;
  readonly #closing: AbortSignal;
  readonly counts = { adopted: 0, damaged: 0, outdated: 0 };

  private constructor(
    host: PlacementHost,
    checksum: Checksum,
    tierReads: OperationScope,
    closing: AbortSignal,
  ) {
    this.#host = host;
    this.#checksum = checksum;
    this.#tierReads = tierReads;
    this.#closing = closing;
    this.#removals = new Removals(host);
  }

  /**
   * Opens the tiers. One that does not work at the moment is passed over, and tried again later; what is on the others is
   * taken over as it is asked for.
   */
  static async open(
    host: PlacementHost,
    checksum: Checksum,
    tierReads: OperationScope,
    closing: AbortSignal,
    options: OperationOptions,
  ): Promise<Copies> {
    const copies = new Copies(host, checksum, tierReads, closing);
    try {
      for (const tier of host.tiers) copies.#stores.push(await copies.#openAtStart(tier, options));
      for (const store of copies.#stores) await copies.#shrinkToQuota(store);
      for (const store of copies.#stores) copies.#takeOverInBackground(store);
    } catch (error) {
      await copies.close();
      throw error;
    }
    return copies;
  }

  get stores(): readonly TierStore[] {
    return this.#stores;
  }

  /** Removals, takings over and openings under way. */
  get underWay(): Promise<void>[] {
    return [...this.#removals.underWay, ...this.#opening.values(), ...this.#background];
  }

  /** Whether an older copy of this object is still being deleted, or could not be: tries again if so. */
  isRemoving(id: number): boolean {
    return this.#removals.isUnderWay(this.#host.namespace.keyOf(id));
  }

  /** Bytes of a level for a copy that is to come; `later` and undefined as `TierStore.claim`. */
  claim(level: number, object: Candidate, bytes: number): Claim | 'later' | undefined {
    const store = this.storeAt(level);
    if (store.current) return store.claim(object, bytes);
    this.#reopen(store);
    return undefined;
  }

  /** What was claimed was published: it is served from now on. False if the quota became smaller meanwhile. */
  placed(id: number, { store }: Claim, copy: Copy): boolean {
    if (store.excessBytes > 0) {
      void this.remove(store, copy);
      return false;
    }
    const checked = new CheckedCopy(copy, store.tier, this.#checksum, this.#tierReads, true);
    if (!checked.isWhole) this.#checked.set(id, checked);
    this.#host.publish(id, { level: store.tier.level, direct: checked.isWhole, tag: copy.tag });
    return true;
  }

  /** Whether a tier may hold an object without this process knowing. Costs nothing. */
  get mayHoldMore(): boolean {
    let mayHoldMore = false;
    for (const store of this.#stores) {
      if (store instanceof ClosedStore) this.#reopen(store);
      mayHoldMore ||= store.mayHoldMore;
    }
    return mayHoldMore;
  }

  /** Whether `isHeld` is worth asking. Costs nothing. */
  mayBeHeld(id: number): boolean {
    return this.#level(id) < this.#host.tiers.length || this.mayHoldMore;
  }

  /** Whether a tier holds the object, or a part of it, also if this process was not told yet: then it costs a look at its index. */
  async isHeld(id: number): Promise<boolean> {
    if (this.#level(id) < this.#host.tiers.length) return true;
    return this.mayHoldMore && this.#look(id);
  }

  /** The copy of an object that is to be read through here: it is not whole, or not checked yet. */
  async toCheck(id: number): Promise<CheckedCopy | undefined> {
    const level = this.#level(id);
    if (level === this.#host.tiers.length || this.#host.namespace.directLevelOf(id) === level)
      return undefined;
    if (!this.#checked.has(id)) await this.#look(id);
    return this.#checked.get(id);
  }

  /** As `toCheck`, if that is known already. */
  checkedCopy(id: number): CheckedCopy | undefined {
    return this.#checked.get(id);
  }

  /** Once all of a copy was found right, reads need not come here any more. */
  settle(id: number, checked: CheckedCopy): void {
    if (!checked.isChecked || !checked.isWhole || this.#checked.get(id) !== checked) return;
    this.#checked.delete(id);
    this.#host.publish(id, { level: checked.tier.level, direct: true, tag: checked.copy.tag });
  }

  /** The copy of an object is not served any more. */
  drop(id: number, level: number, reason: DropReason): void {
    this.#checked.delete(id);
    if (this.#level(id) === level) this.#host.withdraw(id);
    if (reason === 'damaged' || reason === 'missing') this.counts.damaged += 1;
    if (reason === 'outdated') this.counts.outdated += 1;
    this.removeFrom(id, level);
    this.#host.dropped(this.#host.namespace.keyOf(id), level, reason);
  }

  /** Deletes the copies of an object on a level, none of which is served any more. */
  removeFrom(id: number, level: number): void {
    const key = this.#host.namespace.keyOf(id);
    const store = this.storeAt(level);
    const bytes = this.#host.namespace.sizeOf(id);
    this.#removals.count(level, bytes);
    const removal = store
      .find(key)
      .then((copies) => Promise.all(copies.map((copy) => this.#remove(store, copy))))
      .catch((error: unknown) => this.#fault(store.tier, key, error))
      .then(() => this.#removals.count(level, -bytes));
    void this.#removals.track(key, level, removal);
  }

  /** The copies of an object on a level. */
  copiesOn(id: number, level: number): Promise<readonly Copy[]> {
    return this.storeAt(level).find(this.#host.namespace.keyOf(id));
  }

  /** Bytes of copies on a level that are being deleted. */
  bytesLeaving(level: number): number {
    return this.#removals.bytesLeaving(level);
  }

  /**
   * The storage was full before the quota was.
   * @param held Bytes of copies and of those on their way, at that moment.
   * @param lost Those among them for which there was no room.
   */
  shrink(store: TierStore, held: number, lost: number): void {
    store.shrink(held, lost);
    this.#host.tierShrunk(store.tier, store.quotaBytes);
  }

  /** Deletes a copy. Never rejects; what could not be deleted is tried again later. */
  remove(store: TierStore, copy: Copy): Promise<void> {
    return this.#removals.track(copy.key, store.tier.level, this.#remove(store, copy));
  }

  /** Gives the bytes of a claim back, and deletes what may be under its name. Never rejects. */
  release(claim: Claim, key: string): Promise<void> {
    const { tier } = claim.store;
    const released = this.#removals.delete(tier, key, claim.name, () => claim.release(), true);
    return this.#removals.track(key, tier.level, released);
  }

  storeAt(level: number): TierStore {
    const store = this.#stores[level];
    invariant(store !== undefined, `there is no level ${level}`);
    return store;
  }

  /** Leaves all tiers, once nothing is under way. */
  async close(): Promise<void> {
    while (this.underWay.length > 0) await Promise.all(this.underWay);
    await Promise.all(this.#stores.map((store) => store.close()));
  }

  #level(id: number): number {
    return this.#host.namespace.levelOf(id);
  }

  /** Takes over a copy that another process made, or an earlier one; one look for all who ask at once. */
  #look(id: number): Promise<boolean> {
    let look = this.#looks.get(id);
    if (look === undefined) {
      look = this.#lookOnce(id).finally(() => this.#looks.delete(id));
      this.#looks.set(id, look);
    }
    return look;
  }

  async #lookOnce(id: number): Promise<boolean> {
    const key = this.#host.namespace.keyOf(id);
    for (const store of this.#stores) {
      if (!store.mayHoldMore && this.#level(id) !== store.tier.level) continue;
      try {
        for (const copy of await store.find(key)) this.#adopt(id, store, copy);
      } catch (error) {
        if (!this.#closing.aborted) this.#fault(store.tier, key, error);
      }
    }
    return this.#level(id) < this.#host.tiers.length;
  }

  /** Serves a copy of the object that is known, if it is that. */
  #adopt(id: number, store: TierStore, copy: Copy): void {
    const { level } = store.tier;
    const isLeaving = this.#removals.isLeaving(copy.key, level, copy.name);
    if (!this.#matches(id, copy) || isLeaving || this.#stores[level] !== store) return;
    const present = this.#level(id);
    if (present < level) {
      // It is on a faster tier already, and an object has one copy; but what others can use as well stays.
      if (!(this.storeAt(present) instanceof PrivateStore)) void this.remove(store, copy);
      return;
    }
    if (present === level && (this.#checked.has(id) || this.#host.namespace.directLevelOf(id) === level))
      return;
    if (present > level) {
      if (present < this.#host.tiers.length) this.drop(id, present, 'removed');
      this.counts.adopted += 1;
    }
    this.#checked.set(id, new CheckedCopy(copy, store.tier, this.#checksum, this.#tierReads, false));
    this.#host.publish(id, { level, direct: false, tag: copy.tag });
  }

  /** Whether a copy is of the object as it is known. */
  #matches(id: number, { content, version }: Copy): boolean {
    const { namespace, versions } = this.#host;
    if (content === undefined || content.size !== namespace.sizeOf(id)) return false;
    return versions === 'ignore' || version === namespace.versionOf(id);
  }

  async #openAtStart(tier: Tier, options: OperationOptions): Promise<TierStore> {
    try {
      return await this.#openStore(tier, options.signal);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!isTieredError(error) || MISTAKES.some((code) => isTieredError(error, code))) throw error;
      this.#fault(tier, '', error);
      return new ClosedStore(tier);
    }
  }

  #openStore(tier: Tier, signal: AbortSignal | undefined): Promise<TierStore> {
    return openStore(tier, this.#host, {
      checksum: this.#checksum,
      signal,
      onLost: () => this.#reopen(this.storeAt(tier.level)),
      onLeft: (copy) => {
        const id = this.#host.namespace.find(copy.key);
        if (id === ABSENT || this.#level(id) !== tier.level || this.#host.nameOf(id) !== copy.name) return;
        this.#checked.delete(id);
        this.#host.withdraw(id);
      },
    });
  }

  /** Takes over what is on a tier since before, removes what is outdated, and what nobody knows. */
  #takeOverInBackground(store: TierStore): void {
    if (!(store instanceof SharedStore)) return;
    const work = this.#takeOver(store)
      .catch((error: unknown) => {
        if (!this.#closing.aborted && isTieredError(error)) this.#fault(store.tier, '', error);
      })
      .finally(() => this.#background.delete(work));
    this.#background.add(work);
  }

  async #takeOver(store: SharedStore): Promise<void> {
    const { namespace, complete, clock } = this.#host;
    let isAllKnown = true;
    for await (const page of store.pages()) {
      for (const copy of page) {
        const id = namespace.find(copy.key);
        isAllKnown &&= id !== ABSENT || complete;
        if (id !== ABSENT && this.#matches(id, copy)) this.#takeIn(id, store, copy);
        else if (id !== ABSENT || complete) {
          this.counts.outdated += 1;
          void this.remove(store, copy);
          this.#host.dropped(copy.key, store.tier.level, 'outdated');
        }
      }
      await clock.turn();
      if (this.#closing.aborted) return;
    }
    if (isAllKnown) store.shown();
    await store.sweep(this.#closing);
  }

  /** As `#adopt`, without keeping what is known of the copy: that is looked up when it is read. */
  #takeIn(id: number, store: TierStore, copy: Copy): void {
    const present = this.#level(id);
    this.#adopt(id, store, copy);
    if (present !== store.tier.level && copy.content?.bytes === copy.content?.size) this.#checked.delete(id);
  }

  /** The quota is smaller than at the last start, or than that of others: copies go, first one's own. */
  async #shrinkToQuota(store: TierStore): Promise<void> {
    const { namespace } = this.#host;
    for (const others of [false, true]) {
      if (store.excessBytes === 0) return;
      for await (const page of store.pages({ others })) {
        for (const copy of page) {
          if (store.excessBytes === 0) return;
          const id = others ? ABSENT : namespace.find(copy.key);
          if (id !== ABSENT && this.#level(id) === store.tier.level) this.#host.withdraw(id);
          await this.remove(store, copy);
          if (!others) this.#host.dropped(copy.key, store.tier.level, 'evicted');
        }
      }
    }
  }

  #remove(store: TierStore, copy: Copy): Promise<void> {
    return this.#removals.delete(store.tier, copy.key, copy.name, () => store.remove(copy));
  }

  /** The storage has another index now, or none: the directory was emptied, or is another one. Begins anew with it. */
  #reopen(store: TierStore): void {
    const { tier } = store;
    if (!tier.writing.inService || this.#opening.has(tier.level) || this.#closing.aborted) return;
    const opening = store
      .close()
      .then(() => {
        this.#forgetAll(tier.level);
        this.#stores[tier.level] = new ClosedStore(tier);
        return this.#openStore(tier, this.#closing);
      })
      .then(
        (fresh) => {
          this.#stores[tier.level] = fresh;
          this.#host.tierWorked(tier, 'write');
          this.#takeOverInBackground(fresh);
        },
        (error: unknown) => {
          if (!this.#closing.aborted) this.#fault(tier, '', error);
        },
      )
      .finally(() => this.#opening.delete(tier.level));
    this.#opening.set(tier.level, opening);
  }

  /** What was served from a tier may not be there any more. */
  #forgetAll(level: number): void {
    const { namespace } = this.#host;
    for (let id = 0; id < namespace.count; id++) {
      if (namespace.levelOf(id) !== level) continue;
      this.#checked.delete(id);
      this.#host.withdraw(id);
    }
  }

  #fault(tier: Tier, key: string, error: unknown): void {
    if (!isTieredError(error)) throw error;
    this.#host.tierFault(tier, 'openIndex', key, error);
  }
}
