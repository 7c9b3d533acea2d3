import type { OperationOptions, StorageDriver, Tier } from '@tiered/core';
import type { ObjectWriter, ReadIntoOptions } from '@tiered/core/driver';
import { copyName, newTag } from '@tiered/core/internal';
import { OwnQuota } from './own-quota.js';
import type { Candidate, Claim, Copy, CopyContent, PublishOptions, TierStore } from '../tier/tier-store.js';

/** Bytes of a private tier that belong to a copy in flight. */
class PrivateClaim implements Claim {
  readonly store: PrivateStore;
  readonly #copy: Omit<Copy, 'content'>;
  readonly #endClaim: () => void;

  constructor(store: PrivateStore, copy: Omit<Copy, 'content'>, endClaim: () => void) {
    this.store = store;
    this.#copy = copy;
    this.#endClaim = endClaim;
  }

  get name(): string {
    return this.#copy.name;
  }

  get bytes(): number {
    return this.#copy.bytes;
  }

  get keeps(): boolean {
    return this.#driver.capabilities.sharedViews;
  }

  async write(bytes: Uint8Array, content: CopyContent, { turn, signal }: PublishOptions): Promise<Copy> {
    const options = { size: this.bytes, isGiven: true, signal };
    await turn(() => this.#driver.write(this.name, bytes, options));
    return this.#placed(content);
  }

  create(options: OperationOptions): Promise<ObjectWriter> {
    return this.#driver.create(this.name, { size: this.bytes, ...options });
  }

  readInto(target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    return this.#driver.readInto(this.name, target, options);
  }

  async publish(writer: ObjectWriter, content: CopyContent, { turn, signal }: PublishOptions): Promise<Copy> {
    await turn(() => writer.publish({ signal }));
    return this.#placed(content);
  }

  async release(): Promise<void> {
    await this.#driver.delete(this.name, {});
    this.store.unnamed(this.name);
    this.#endClaim();
  }

  #placed(content: CopyContent): Copy {
    const copy = { ...this.#copy, content };
    this.#endClaim();
    this.store.placed(copy);
    return copy;
  }

  get #driver(): StorageDriver {
    return this.store.tier.driver;
  }
}

/** The store of a tier that belongs to this process alone and ends with it, such as RAM. */
export class PrivateStore implements TierStore {
  readonly tier: Tier;
  readonly asked = undefined;
  readonly current = true;
  readonly mayHoldMore = false;
  readonly #dataset: string;
  /** Copies by key, usually one each. */
  readonly #copies = new Map<string, Copy[]>();
  /** Names that have bytes, or are about to. */
  readonly #names = new Set<string>();
  readonly #quota: OwnQuota;

  constructor(tier: Tier, dataset: string) {
    this.tier = tier;
    this.#dataset = dataset;
    this.#quota = new OwnQuota(tier.quotaBytes);
  }

  get quotaBytes(): number {
    return this.#quota.bytes;
  }

  async isCurrent(): Promise<boolean> {
    return true;
  }

  async leavingBytes(): Promise<number> {
    return 0;
  }

  get usedBytes(): number {
    return this.#quota.used;
  }

  get claimedBytes(): number {
    return this.#quota.claimed;
  }

  get freeBytes(): number {
    return this.#quota.free;
  }

  get excessBytes(): number {
    return this.#quota.excess;
  }

  claim({ key, version }: Candidate, bytes: number): Claim | undefined {
    if (bytes > this.freeBytes) return undefined;
    // The key itself if possible, because then the name need not be kept.
    const tag = this.#names.has(key) ? newTag() : undefined;
    const name = tag === undefined ? key : copyName(key, tag);
    this.#names.add(name);
    const end = this.#quota.claim(bytes);
    return new PrivateClaim(this, { key, version, dataset: this.#dataset, name, tag, bytes }, end);
  }

  /** Adds a claimed copy that is there now. */
  placed(copy: Copy): void {
    this.#quota.used += copy.bytes;
    const others = this.#copies.get(copy.key);
    this.#copies.set(copy.key, others === undefined ? [copy] : [...others, copy]);
  }

  /** Frees the name of a copy that was not placed. */
  unnamed(name: string): void {
    this.#names.delete(name);
  }

  async find(key: string): Promise<readonly Copy[]> {
    return this.#copies.get(key) ?? [];
  }

  async *pages({ others = false } = {}): AsyncGenerator<readonly Copy[], void, undefined> {
    if (!others) for (const copies of this.#copies.values()) yield copies;
  }

  async remove(copy: Copy): Promise<void> {
    // Names are reused: another copy may have this one by now.
    if (!this.#holds(copy)) return;
    await this.tier.driver.delete(copy.name, {});
    // Changes by other calls meanwhile, possibly to this copy too, are already accounted for.
    if (!this.#holds(copy)) return;
    const { key, name, bytes } = copy;
    this.#quota.used -= bytes;
    this.#names.delete(name);
    const rest = (this.#copies.get(key) ?? []).filter((one) => one !== copy);
    if (rest.length > 0) this.#copies.set(key, rest);
    else this.#copies.delete(key);
  }

  #holds(copy: Copy): boolean {
    return this.#copies.get(copy.key)?.includes(copy) === true;
  }

  shrink(held: number, lost: number): void {
    this.#quota.shrink(held, lost);
  }

  async beginTakingOver(): Promise<void> {
    // There is nothing.
  }

  async endTakingOver(): Promise<void> {
    // There was nothing.
  }

  async close(): Promise<void> {
    // Copies that could not be deleted are deleted when the tier is next opened.
    this.#quota.forgetClaims();
  }
}
