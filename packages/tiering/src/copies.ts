import {
  isTieredError,
  type DropReason,
  type OperationOptions,
  type PlacementHost,
  type Tier,
} from '@tiered/core';
import {
  ABSENT,
  identityOf,
  invariant,
  raceAbort,
  type Checksum,
  type OperationScope,
} from '@tiered/core/internal';
import pLimit from 'p-limit';
import { CheckedCopy } from './checked-copy.js';
import { isLasting } from './lasting-copies.js';
import type { CopyContent, CopyIdentity } from './log-record.js';
import type { Copy } from './tier-ledger.js';
import { TierStore, type Claim } from './tier-store.js';

/** Objects after which the event loop turns while the copies of an earlier process are taken over. */
const AT_ONCE = 10_000;

/** Copies deleted at the same time: a tier is a disk, and a source may change ten thousand objects at once. */
const DELETES = 16;

/** A copy that could not be deleted. */
interface Undeleted {
  readonly level: number;
  readonly name: string;
}

/**
 * The copies on all tiers, as far as this process is concerned: taken over at start and from other processes, checked
 * while they are read, and removed when they must not be served any more. An object has one copy that is served.
 */
export class Copies {
  readonly #host: PlacementHost;
  readonly #checksum: Checksum;
  readonly #stores: TierStore[] = [];
  readonly #checked = new Map<number, CheckedCopy>();
  readonly #removals = new Map<string, Promise<void>>();
  /** Copies that could not be deleted: for a key, by `level name`. */
  readonly #undeleted = new Map<string, Map<string, Undeleted>>();
  /** Names, as `level name`, whose copies must not be served again. */
  readonly #doomed = new Set<string>();
  readonly #deletes = pLimit(DELETES);
  readonly #reopening = new Map<number, Promise<void>>();
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
  }

  /** Opens the tiers' logs, and takes over what can be trusted. */
  static async open(
    host: PlacementHost,
    checksum: Checksum,
    tierReads: OperationScope,
    closing: AbortSignal,
    options: OperationOptions,
  ): Promise<Copies> {
    const copies = new Copies(host, checksum, tierReads, closing);
    try {
      for (const tier of host.tiers) copies.#stores.push(await copies.#openStore(tier, options));
      for (const store of copies.#stores) await copies.#takeOver(store, options.signal);
    } catch (error) {
      // Deletions are not under the signal: the drivers stay open until they have ended.
      await Promise.all(copies.underWay);
      copies.close();
      throw error;
    }
    return copies;
  }

  get stores(): readonly TierStore[] {
    return this.#stores;
  }

  /** Removals under way, and tiers that are being opened again. */
  get underWay(): Promise<void>[] {
    return [...this.#removals.values(), ...this.#reopening.values()];
  }

  /** Whether an older copy of this object is still being deleted, or could not be: tries again if so. */
  isRemoving(id: number): boolean {
    const key = this.#host.namespace.keyOf(id);
    const undeleted = this.#undeleted.get(key);
    for (const [doom, { level, name }] of undeleted ?? []) {
      const store = this.storeAt(level);
      if (!store.tier.writing.inService) continue;
      undeleted?.delete(doom);
      void this.remove(store, name, key);
    }
    if (undeleted?.size === 0) this.#undeleted.delete(key);
    return undeleted !== undefined || this.#removals.has(key);
  }

  /** Bytes of a level for a copy that is to come; undefined if there is no room, or the tier cannot be used now. */
  claim(level: number, object: Omit<CopyIdentity, 'dataset'>, bytes: number): Claim | undefined {
    const store = this.storeAt(level);
    if (this.#reopening.has(level)) return undefined;
    return this.#guarded(store, object.key, () => {
      if (store.current) return store.claim(object, bytes);
      this.#reopen(store);
      return undefined;
    });
  }

  /**
   * What was claimed was published: it is served from now on. False if the tier's log could not be told, or if the
   * quota became smaller meanwhile.
   */
  placed(id: number, claim: Claim, content: CopyContent): boolean {
    const { store } = claim;
    const { level } = store;
    const key = this.#host.namespace.keyOf(id);
    const copy = this.#guarded(store, key, () => claim.placed(content));
    if (copy === undefined || store.excessBytes > 0) {
      void this.remove(store, claim.name, key);
      return false;
    }
    const checked = new CheckedCopy(copy, store.tier, this.#checksum, this.#tierReads, true);
    if (!checked.isWhole) this.#checked.set(id, checked);
    this.#host.publish(id, { level, direct: checked.isWhole, name: copy.name });
    return true;
  }

  /** The copy of an object that is to be read through here: it is not whole, or not checked yet. */
  toCheck(id: number): CheckedCopy | undefined {
    const { namespace, tiers } = this.#host;
    const level = namespace.levelOf(id);
    if (level === tiers.length || namespace.directLevelOf(id) === level) return undefined;
    let checked = this.#checked.get(id);
    if (checked === undefined) {
      const copy = this.#find(this.storeAt(level), id);
      if (copy === undefined) return undefined;
      checked = new CheckedCopy(copy, this.storeAt(level).tier, this.#checksum, this.#tierReads, false);
      this.#checked.set(id, checked);
    }
    return checked;
  }

  /** Once all of a copy was found right, reads need not come here any more. */
  settle(id: number, checked: CheckedCopy): void {
    if (!checked.isChecked || !checked.isWhole || this.#checked.get(id) !== checked) return;
    this.#checked.delete(id);
    this.#host.publish(id, { level: checked.tier.level, direct: true, name: checked.copy.name });
  }

  /** Serves a copy that another process made meanwhile, if there is one. Costs a system call a tier. */
  adopt(id: number): boolean {
    for (const store of this.#stores) {
      this.#guarded(store, '', () => store.refresh());
      const copy = this.#find(store, id);
      if (copy !== undefined) this.#adopt(id, store, copy);
    }
    return this.#host.namespace.levelOf(id) < this.#host.tiers.length;
  }

  /** The copy of an object is not served any more. */
  drop(id: number, level: number, reason: DropReason): void {
    this.#checked.delete(id);
    if (this.#host.namespace.levelOf(id) === level) this.#host.withdraw(id);
    if (reason === 'damaged' || reason === 'missing') this.counts.damaged += 1;
    if (reason === 'outdated') this.counts.outdated += 1;
    this.removeFrom(id, level);
    this.#host.dropped(this.#host.namespace.keyOf(id), level, reason);
  }

  /** Deletes the copies of an object on a level, none of which is served any more. */
  removeFrom(id: number, level: number): void {
    const store = this.storeAt(level);
    for (const { name, key } of store.copiesOf(this.#host.namespace.keyOf(id)))
      void this.remove(store, name, key);
  }

  /** The copy of an object on a level, of the version that is known, also if another one is served. */
  copyOn(id: number, level: number): Copy | undefined {
    return this.#find(this.storeAt(level), id);
  }

  /** Bytes of copies on a level that are being deleted. */
  bytesLeaving(level: number): number {
    const prefix = `${level} `;
    const bytesOf = (doom: string) => this.storeAt(level).copy(doom.slice(prefix.length))?.bytes ?? 0;
    const names = [...this.#doomed].filter((doom) => doom.startsWith(prefix));
    return names.reduce((bytes, doom) => bytes + bytesOf(doom), 0);
  }

  /**
   * The storage was full before the quota was.
   * @param held Bytes of copies and of those on their way, at that moment.
   * @param lost Those among them for which there was no room.
   */
  shrink(store: TierStore, held: number, lost: number): void {
    this.#guarded(store, '', () => {
      store.shrink(held, lost);
      this.#host.tierShrunk(store.tier, store.quotaBytes);
    });
  }

  /** Deletes a copy, or what there may be of one. Never rejects; what could not be deleted is tried again later. */
  remove(store: TierStore, name: string, key: string): Promise<void> {
    // Not under the signal of closing: close() waits, and leaves nothing half done.
    const doom = `${store.level} ${name}`;
    this.#doomed.add(doom);
    const removal = this.#deletes(() => store.remove(name, {})).then(
      () => {
        this.#doomed.delete(doom);
        this.#host.tierWorked(store.tier, 'write');
      },
      (error: unknown) => {
        const undeleted = this.#undeleted.get(key) ?? new Map<string, Undeleted>();
        this.#undeleted.set(key, undeleted.set(doom, { level: store.level, name }));
        this.#host.tierFault(store.tier, 'delete', key, error);
      },
    );
    const ended = Promise.all([this.#removals.get(key), removal]).then(() => {
      if (this.#removals.get(key) === ended) this.#removals.delete(key);
    });
    this.#removals.set(key, ended);
    return ended;
  }

  /** Gives the bytes of a claim back under which there is nothing. */
  release(claim: Claim, key: string): void {
    this.#guarded(claim.store, key, () => claim.release());
  }

  storeAt(level: number): TierStore {
    const store = this.#stores[level];
    invariant(store !== undefined, `there is no level ${level}`);
    return store;
  }

  /** Leaves all tiers. */
  close(): void {
    for (const store of this.#stores) store.close();
  }

  #openStore(tier: Tier, options: OperationOptions): Promise<TierStore> {
    const { source, clock, namespace } = this.#host;
    return TierStore.open(
      {
        tier,
        dataset: identityOf(source),
        checksum: this.#checksum,
        clock,
        onFreed: (copy) => {
          const id = namespace.find(copy.key);
          // A copy of another version is not the one that is served.
          if (id === ABSENT || namespace.levelOf(id) !== tier.level || !this.#matches(id, copy)) return;
          this.#checked.delete(id);
          this.#host.withdraw(id);
        },
      },
      options,
    );
  }

  /** Takes over what is on a tier since before. */
  async #takeOver(store: TierStore, signal: AbortSignal | undefined): Promise<void> {
    const { namespace, complete, clock } = this.#host;
    for (const [index, copy] of [...store.copies()].entries()) {
      const id = namespace.find(copy.key);
      if (id !== ABSENT && this.#matches(id, copy)) this.#adopt(id, store, copy);
      else if (id !== ABSENT || complete) {
        this.counts.outdated += 1;
        void this.remove(store, copy.name, copy.key);
        this.#host.dropped(copy.key, store.level, 'outdated');
      }
      if ((index + 1) % AT_ONCE !== 0) continue;
      signal?.throwIfAborted();
      await clock.turn();
    }
    await raceAbort(Promise.all(this.#removals.values()), signal);
    await this.#shrinkToQuota(store);
  }

  /** The quota is smaller than at the last start, or than that of others: the copies that came last go, first one's own. */
  async #shrinkToQuota(store: TierStore): Promise<void> {
    const { namespace } = this.#host;
    for (const others of [false, true]) {
      if (store.excessBytes === 0) return;
      for (const { key, name } of [...store.copies({ others })].reverse()) {
        if (store.excessBytes === 0) return;
        const id = others ? ABSENT : namespace.find(key);
        if (id !== ABSENT && namespace.levelOf(id) === store.level) this.#host.withdraw(id);
        await this.remove(store, name, key);
        if (!others) this.#host.dropped(key, store.level, 'evicted');
      }
    }
  }

  #adopt(id: number, store: TierStore, copy: Copy): void {
    const { namespace, tiers } = this.#host;
    const level = namespace.levelOf(id);
    if (level === store.level) return;
    if (level < store.level) {
      // It is on a faster tier already, and an object has one copy that lasts.
      if (isLasting(this.storeAt(level).tier)) void this.remove(store, copy.name, copy.key);
      return;
    }
    if (level < tiers.length) this.drop(id, level, 'removed');
    this.counts.adopted += 1;
    this.#host.publish(id, { level: store.level, direct: false, name: copy.name });
  }

  #find(store: TierStore, id: number): Copy | undefined {
    const isServed = (copy: Copy) =>
      this.#matches(id, copy) && !this.#doomed.has(`${store.level} ${copy.name}`);
    return store.copiesOf(this.#host.namespace.keyOf(id)).find(isServed);
  }

  /** Whether a copy is of the object as it is known. */
  #matches(id: number, { size, version }: Copy): boolean {
    const { namespace, versions } = this.#host;
    return size === namespace.sizeOf(id) && (versions === 'ignore' || version === namespace.versionOf(id));
  }

  /** The storage has another log now, or none: the directory was emptied, or is another one. Begins anew with it. */
  #reopen(store: TierStore): void {
    const { tier, level } = store;
    if (!tier.writing.inService) return;
    store.close();
    const reopened = this.#openStore(tier, { signal: this.#closing })
      .then(
        (fresh) => this.#reopened(fresh),
        (error: unknown) => {
          if (!this.#closing.aborted) this.#host.tierFault(tier, 'openLog', '', error);
        },
      )
      .finally(() => this.#reopening.delete(level));
    this.#reopening.set(level, reopened);
  }

  /** What was served from the tier may not be there any more. */
  #reopened(store: TierStore): void {
    const { namespace } = this.#host;
    this.#stores[store.level] = store;
    this.#host.tierWorked(store.tier, 'write');
    for (let id = 0; id < namespace.count; id++) {
      if (namespace.levelOf(id) !== store.level) continue;
      this.#checked.delete(id);
      this.#host.withdraw(id);
      const copy = this.#find(store, id);
      if (copy !== undefined) this.#adopt(id, store, copy);
    }
  }

  /** Runs what writes to a tier's log; if that fails it is a fault of the tier. */
  #guarded<T>(store: TierStore, key: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!isTieredError(error)) throw error;
      this.#host.tierFault(store.tier, 'write', key, error);
      return;
    }
  }
}
