import { isTieredError, type DropReason, type PlacementHost, type Tier } from '@tiered/core';
import type { OperationOptions } from '@tiered/core';
import { ABSENT, invariant, type Checksum, type OperationScope } from '@tiered/core/internal';
import { CheckedCopy } from './verified-reader.js';
import { isLasting } from './lasting-copies.js';
import { Openings } from './openings.js';
import { Removals } from './removals.js';
import { ClosedStore } from '../tier/closed-store.js';
import { openAtStart, openStore, type StoreEvents } from '../tier/open-store.js';
import type { Candidate, Claim, Copy, TierStore } from '../tier/tier-store.js';
import { TakeOvers } from './take-overs.js';
import { shrinkToQuota, takeOver } from './adoption.js';

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
  /** Objects with a copy on a slower tier beside the one that is served. */
  readonly #covered = new Set<number>();
  /** What is being deleted. */
  readonly removals: Removals;
  readonly #openings: Openings;
  readonly #takeOvers: TakeOvers;
  readonly #tierReads: OperationScope;
  readonly #closing: AbortSignal;
  readonly #events: Pick<StoreEvents, 'closing' | 'haste'>;
  /** Called when a level may grant again what it could not. */
  onRoom: () => void = () => undefined;
  /** Called when a level has segments that are less than half full. */
  onSparse: (level: number) => void = () => undefined;
  /** Called when a copy that was there is served from now on. */
  onAdopted: (id: number, level: number) => void = () => undefined;
  readonly counts = { adopted: 0, damaged: 0, outdated: 0 };

  private constructor(
    host: PlacementHost,
    checksum: Checksum,
    tierReads: OperationScope,
    events: Pick<StoreEvents, 'closing' | 'haste'>,
  ) {
    const { closing } = events;
    this.#events = events;
    this.#host = host;
    this.#checksum = checksum;
    this.#tierReads = tierReads;
    this.#closing = closing;
    this.removals = new Removals(host, closing);
    this.#openings = new Openings(host, closing, {
      open: (tier) => openStore(tier, host, checksum, this.#told(tier), { signal: closing }),
      begin: (store) => {
        this.#forgetAll(store.tier.level);
        this.#stores[store.tier.level] = store;
        this.#takeOvers.begin(store);
      },
    });
    this.#takeOvers = new TakeOvers({
      clock: host.clock,
      closing,
      takeOver: (store) => this.#takeOver(store),
      isOpen: (store) => this.#stores[store.tier.level] === store,
      failed: ({ tier }, error) => this.#fault(tier, '', error),
    });
  }

  /**
   * Opens the tiers. One that does not work at the moment is passed over, and tried again later; what is on the others is
   * taken over as it is asked for.
   */
  static async open(
    host: PlacementHost,
    checksum: Checksum,
    tierReads: OperationScope,
    events: Pick<StoreEvents, 'closing' | 'haste'>,
    options: OperationOptions,
  ): Promise<Copies> {
    const copies = new Copies(host, checksum, tierReads, events);
    try {
      for (const tier of host.tiers)
        copies.#stores.push(await openAtStart(tier, host, checksum, copies.#told(tier), options));
      for (const store of copies.#stores) {
        const remove = (copy: Copy) => copies.remove(store, copy);
        const shrunk = shrinkToQuota(store, host, remove, options.signal);
        await shrunk.catch((error: unknown) => copies.#fault(store.tier, '', error));
        options.signal?.throwIfAborted();
      }
    } catch (error) {
      await copies.close();
      throw error;
    }
    return copies;
  }

  /** Begins to take over what is there, in the background. */
  begin(): void {
    for (const store of this.#stores) this.#takeOvers.begin(store);
  }

  get stores(): readonly TierStore[] {
    return this.#stores;
  }

  /** Removals, takings over and openings under way. */
  get underWay(): Promise<void>[] {
    const asked = this.#stores.flatMap(({ asked: room = [], underWay = [] }) => [...underWay].concat(room));
    return [...asked, ...this.removals.underWay, ...this.#openings.underWay, ...this.#takeOvers.underWay];
  }

  /** Whether an older copy of this object is still being deleted, or could not be: tries again if so. */
  isRemoving(id: number): boolean {
    return this.removals.isUnderWay(this.#host.namespace.keyOf(id));
  }

  /** Resolves when bytes that a claim was answered `later` for were asked for; undefined if none are. */
  get asked(): Promise<void> | undefined {
    return this.#stores.map(({ asked }) => asked).find((asked) => asked !== undefined);
  }

  /** Bytes of a level for a copy that is to come; `later` and undefined as `TierStore.claim`. */
  claim(level: number, object: Candidate, bytes: number): Claim | 'later' | undefined {
    const store = this.storeAt(level);
    if (store.current) return store.claim(object, bytes);
    this.#openings.again(store);
    return undefined;
  }

  /** What was claimed was published, or moved: it is served from now on. False if the quota became smaller meanwhile. */
  placed(id: number, { store }: Pick<Claim, 'store'>, copy: Copy): boolean {
    if (store.excessBytes > 0) {
      void this.remove(store, copy);
      return false;
    }
    const checked = new CheckedCopy(copy, store.tier, this.#checksum, this.#tierReads, true);
    if (checked.isWhole) this.#checked.delete(id);
    else this.#checked.set(id, checked);
    this.#host.publish(id, { level: store.tier.level, direct: checked.isWhole, tag: copy.tag });
    return true;
  }

  /** Whether a tier may hold an object without this process knowing. Costs nothing. */
  get mayHoldMore(): boolean {
    for (const store of this.#stores) if (store instanceof ClosedStore) this.#openings.again(store);
    return this.#stores.some((store) => store.mayHoldMore);
  }

  /** Whether `isHeld` is worth asking. Costs nothing. */
  mayBeHeld(id: number): boolean {
    return this.#level(id) < this.#host.tiers.length || this.mayHoldMore || this.#covered.has(id);
  }

  /** An object was moved up, and its copy stayed where it was as well: it serves again when the faster one leaves. */
  cover(id: number): void {
    this.#covered.add(id);
  }

  /** Whether a copy of the object may have stayed on a slower tier than it is served from. */
  isCovered(id: number): boolean {
    return this.#covered.has(id);
  }

  /** Whether a tier holds the object, or a part of it, also if this process was not told yet: then it costs a look at its index. */
  async isHeld(id: number): Promise<boolean> {
    if (this.#level(id) < this.#host.tiers.length) return true;
    return (this.mayHoldMore || this.#covered.has(id)) && this.#look(id);
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
    this.removals.count(level, bytes);
    const removal = store
      .find(key)
      .then((copies) => Promise.all(copies.map((copy) => this.#remove(store, copy))))
      .catch((error: unknown) => this.#fault(store.tier, key, error))
      .then(() => this.removals.count(level, -bytes));
    void this.removals.track(key, level, removal);
  }

  /** The copy of an object on a level, of the version that is known, also if another one is served. */
  async copyOn(id: number, level: number): Promise<Copy | undefined> {
    const copies = await this.storeAt(level).find(this.#host.namespace.keyOf(id));
    const isLeaving = ({ key, name }: Copy) => this.removals.isLeaving(key, level, name);
    return copies.find((copy) => this.matches(id, copy) && !isLeaving(copy));
  }

  /** Whether a copy is of the object as it is known. */
  matches(id: number, { content, version }: Copy): boolean {
    const { namespace, versions } = this.#host;
    if (content === undefined || content.size !== namespace.sizeOf(id)) return false;
    return versions === 'ignore' || version === namespace.versionOf(id);
  }

  /** Deletes a copy, which is not served any more. Never rejects; what could not be deleted is tried again later. */
  remove(store: TierStore, copy: Copy): Promise<void> {
    this.#withdraw(store.tier.level, copy);
    return this.removals.track(copy.key, store.tier.level, this.#remove(store, copy));
  }

  /** Gives the bytes of a claim back, and deletes what may be under its name. Never rejects. */
  release(claim: Claim, key: string): Promise<void> {
    const { tier } = claim.store;
    const released = this.removals.delete(tier, key, claim.name, () => claim.release(), true);
    return this.removals.track(key, tier.level, released);
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
      const isWorthIt = store.mayHoldMore || this.#covered.has(id) || this.#level(id) === store.tier.level;
      if (!isWorthIt) continue;
      try {
        for (const copy of await store.find(key)) {
          if (copy.content === undefined) this.#damaged(store, copy);
          else this.#adopt(id, store, copy);
        }
      } catch (error) {
        if (!this.#closing.aborted) this.#fault(store.tier, key, error);
      }
    }
    return this.#level(id) < this.#host.tiers.length;
  }

  /** What is recorded of a copy is damaged: it cannot be trusted. */
  #damaged(store: TierStore, copy: Copy): void {
    this.counts.damaged += 1;
    void this.remove(store, copy);
    this.#host.dropped(copy.key, store.tier.level, 'damaged');
  }

  /** Serves a copy of the object that is known, if it is that. */
  #adopt(id: number, store: TierStore, copy: Copy): void {
    const { level } = store.tier;
    const isLeaving = this.removals.isLeaving(copy.key, level, copy.name);
    if (!this.matches(id, copy) || isLeaving || this.#stores[level] !== store) return;
    const present = this.#level(id);
    if (present < level) {
      // It is on a faster tier already, and an object has one copy that lasts.
      if (isLasting(this.storeAt(present).tier)) void this.remove(store, copy);
      else this.#covered.add(id);
      return;
    }
    if (present === level && (this.#checked.has(id) || this.#host.namespace.directLevelOf(id) === level))
      return;
    this.#covered.delete(id);
    if (present > level) {
      if (present < this.#host.tiers.length) this.drop(id, present, 'removed');
      this.counts.adopted += 1;
    }
    this.#checked.set(id, new CheckedCopy(copy, store.tier, this.#checksum, this.#tierReads, false));
    this.#host.publish(id, { level, direct: false, tag: copy.tag });
    this.onAdopted(id, level);
  }

  /** What a store that is open tells. */
  #told(tier: Tier): StoreEvents {
    return {
      ...this.#events,
      onLost: () => this.#openings.again(this.storeAt(tier.level)),
      onRoom: () => this.onRoom(),
      onSparse: () => this.onSparse(tier.level),
      onTaken: () => {
        this.#forgetAll(tier.level);
        this.#stores[tier.level] = new ClosedStore(tier, 'for good');
      },
      onLeft: (copy) => this.#withdraw(tier.level, copy),
    };
  }

  /** If a copy is the one that is served, it is not any more. */
  #withdraw(level: number, { key, tag }: Copy): void {
    const id = this.#host.namespace.find(key);
    if (id === ABSENT || this.#level(id) !== level || this.#host.tagOf(id) !== tag) return;
    this.#checked.delete(id);
    this.#host.withdraw(id);
  }

  /** Takes over what is on a tier since before, removes what is outdated, and what nobody knows. */
  async #takeOver(store: TierStore): Promise<void> {
    const { level } = store.tier;
    await takeOver(store, this.#host, this.#closing, {
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

  /** As `#adopt`, without keeping what is known of the copy: that is looked up when it is read. */
  #takeIn(id: number, store: TierStore, copy: Copy): void {
    const present = this.#level(id);
    this.#adopt(id, store, copy);
    if (present !== store.tier.level && copy.content?.bytes === copy.content?.size) this.#checked.delete(id);
  }

  #remove(store: TierStore, copy: Copy): Promise<void> {
    return this.removals.delete(store.tier, copy.key, copy.name, () => store.remove(copy));
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
