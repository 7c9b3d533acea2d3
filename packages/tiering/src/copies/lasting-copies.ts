import type { DropReason, PlacementHost, Tier } from '@tiered/core';
import type { Checksum, OperationScope } from '@tiered/core/internal';
import { CheckedCopy } from './verified-reader.js';
import type { Copies } from './copy-index.js';

/** Whether copies on a tier outlive this process. */
export function isLasting({ driver }: Tier): boolean {
  return driver.capabilities.index || driver.location !== undefined;
}

/**
 * Copies on slower tiers of what faster ones hold: what is moved up to a tier that is gone with this process stays where
 * it was as well, and is served from there again when the faster copy leaves.
 */
export class LastingCopies {
  readonly #host: PlacementHost;
  readonly #copies: Copies;
  readonly #checksum: Checksum;
  readonly #tierReads: OperationScope;

  constructor(host: PlacementHost, copies: Copies, checksum: Checksum, tierReads: OperationScope) {
    this.#host = host;
    this.#copies = copies;
    this.#checksum = checksum;
    this.#tierReads = tierReads;
  }

  /** The copy of an object on a level, to be read with a look at every sum, whoever wrote it. */
  async toVerify(id: number, level: number): Promise<CheckedCopy | undefined> {
    const copy = await this.#copies.copyOn(id, level);
    const { tier } = this.#copies.storeAt(level);
    return copy && new CheckedCopy(copy, tier, this.#checksum, this.#tierReads, false);
  }

  /** The copy of an object on a level is not served any more; one on a slower level is, from the next read on, if it is of that version. */
  drop(id: number, level: number, reason: DropReason): void {
    this.#copies.drop(id, level, reason);
    if (reason !== 'outdated' || !this.#copies.isCovered(id)) return;
    for (const { level: slower } of this.#host.tiers.slice(level + 1)) this.#copies.removeFrom(id, slower);
  }
}
