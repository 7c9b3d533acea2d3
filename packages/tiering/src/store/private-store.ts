import type { Tier } from '@tiered/core';
import { copyName, newTag } from '@tiered/core/internal';
import { OwnQuota } from './own-quota.js';
import type { Candidate, Claim, Copy, CopyContent, TierStore } from '../tier/tier-store.js';

/** The store of a tier that belongs to this process alone and ends with it, such as RAM. */
export class PrivateStore implements TierStore {
  readonly tier: Tier;
  readonly asked = undefined;
  readonly current = true;
  readonly mayHoldMore = false;
  readonly #dataset: string;
  /** Copies by key; mostly one for each. */
  readonly #copies = new Map<string, Copy[]>();
  /** Names with bytes under them, or that are about to have some. */
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
    const { driver } = this.tier;
    // The key itself where possible, because then nobody has to keep the name.
    const tag = this.#names.has(key) ? newTag() : undefined;
    const name = tag === undefined ? key : copyName(key, tag);
    this.#names.add(name);
    const end = this.#quota.claim(bytes);
    const placed = (content: CopyContent) => {
      end();
      this.#quota.used += bytes;
      const copy = { name, tag, key, version, bytes, content, dataset: this.#dataset };
      this.#copies.set(key, [...(this.#copies.get(key) ?? []), copy]);
      return copy;
    };
    return {
      store: this,
      name,
      bytes,
      keeps: driver.capabilities.sharedViews,
      write: (data, content, { turn, signal }) =>
        turn(() => driver.write(name, data, { size: bytes, isGiven: true, signal })).then(() =>
          placed(content),
        ),
      create: (options) => driver.create(name, { size: bytes, ...options }),
      readInto: (target, options) => driver.readInto(name, target, options),
      publish: (writer, content, { turn, signal }) =>
        turn(() => writer.publish({ signal })).then(() => placed(content)),
      release: async () => {
        await driver.delete(name, {});
        this.#names.delete(name);
        end();
      },
    };
  }

  async find(key: string): Promise<readonly Copy[]> {
    return this.#copies.get(key) ?? [];
  }

  async *pages({ others = false } = {}): AsyncGenerator<readonly Copy[], void, undefined> {
    if (!others) for (const copies of this.#copies.values()) yield copies;
  }

  async remove(copy: Copy): Promise<void> {
    // A name serves again: another copy may have it by now.
    if (!this.#holds(copy)) return;
    await this.tier.driver.delete(copy.name, {});
    // Other copies that came and went meanwhile, possibly this one too, are in the books already.
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
    // Copies that could not be deleted are deleted when the tier is opened again.
    this.#quota.forgetClaims();
  }
}
