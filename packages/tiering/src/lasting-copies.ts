import type { DropReason, PlacementHost, Tier } from '@tiered/core';
import type { Checksum, OperationScope } from '@tiered/core/internal';
import { CheckedCopy } from './checked-copy.js';
import type { Copies } from './copies.js';

/** Whether copies on a tier outlive this process, and serve others as well. */
export function isLasting({ driver }: Tier): boolean {
  return driver.capabilities.persistent && driver.capabilities.log;
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
  toVerify(id: number, level: number): CheckedCopy | undefined {
    const copy = this.#copies.copyOn(id, level);
    const { tier } = this.#copies.storeAt(level);
    return copy && new CheckedCopy(copy, tier, this.#checksum, this.#tierReads, false);
  }

  /** The copy of an object on a level is not served any more; one on a slower level is from now on, if it is of that version. */
  drop(id: number, level: number, reason: DropReason): void {
    const { namespace, tiers } = this.#host;
    this.#copies.drop(id, level, reason);
    for (const { level: slower } of tiers.slice(level + 1)) {
      if (reason === 'outdated') this.#copies.removeFrom(id, slower);
      const copy = this.#copies.copyOn(id, slower);
      if (copy === undefined || namespace.levelOf(id) !== tiers.length) continue;
      this.#host.publish(id, { level: slower, direct: false, name: copy.name });
    }
  }
}
