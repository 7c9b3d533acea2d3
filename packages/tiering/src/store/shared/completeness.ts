import type { Patiently } from '../../index/until-free.js';
import type { Tier } from '@tiered/core';
import type { IndexHome } from '@tiered/core/driver';
import { tagOf } from '@tiered/core/internal';
import type { IndexClient } from '../../index/index-client.js';

/** Lists the storage. */
type Sweep = (signal: AbortSignal | undefined, patiently: Patiently) => Promise<void>;

/**
 * Whether everything on a tier's storage is in its index. A listing makes it so. If the listing fails, the
 * next caller that needs it retries.
 */
export class Completeness {
  readonly #sweep: Sweep;
  #isReached: boolean;

  /**
   * @param isReached Whether the index is known to be complete without a listing.
   * @param sweep Lists the storage.
   */
  constructor(isReached: boolean, sweep: Sweep) {
    this.#isReached = isReached;
    this.#sweep = sweep;
  }

  get isReached(): boolean {
    return this.#isReached;
  }

  /**
   * Lists the storage, if necessary. Rejects as the listing does.
   * @param patiently Makes calls of the index.
   */
  async reach(signal: AbortSignal | undefined, patiently: Patiently): Promise<void> {
    if (this.#isReached) return;
    await this.#sweep(signal, patiently);
    this.#isReached = true;
  }
}

/** Dependencies of `completeIndex`. */
export interface CompletingParts {
  readonly client: IndexClient;
  readonly patiently: Patiently;
  readonly tier: Tier;
  readonly home: IndexHome;
  /** The boot of the machine, and the index in which it was recorded. */
  readonly boot: string;
}

/**
 * Makes sure that everything on the storage is in the index. This is uncertain if the index is new, or if the
 * machine was booted since, possibly after a power cut. Costs a listing. Nothing is placed before it has
 * ended, because unknown files and directories fill the tier too.
 */
export async function completeIndex(
  { client, patiently, tier, home, boot }: CompletingParts,
  signal: AbortSignal | undefined,
): Promise<void> {
  await deleteUnknown(client, tier, signal);
  await home.removeEmptyDirectories(signal);
  await patiently(() => client.call('swept', { boot }));
}

/**
 * Deletes files that are on a tier but not in its index: a power cut may have lost changes of the index.
 * Costs a listing and, while it runs, 8 bytes of memory per copy.
 */
async function deleteUnknown(
  index: IndexClient,
  { driver }: Tier,
  signal: AbortSignal | undefined,
): Promise<void> {
  const tags = await index.call('tags', undefined);
  for await (const page of driver.list({ signal })) {
    const names = page.map(({ key }) => key).filter((name) => !includes(tags, tagOf(name)));
    if (names.length === 0) continue;
    // Another process may have placed a copy since the tags were read. A name is in the index before it is on
    // the storage.
    const asked = names.map(tagOf).filter((tag) => tag !== undefined);
    const unknown = new Set(await index.call('unknown', { tags: asked }));
    for (const name of names) {
      const tag = tagOf(name);
      if (tag === undefined || unknown.has(tag)) await driver.delete(name, { signal });
    }
  }
}

/** Whether sorted numbers include the wanted one. */
function includes(sorted: Float64Array, wanted: number | undefined): boolean {
  if (wanted === undefined) return false;
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((sorted[middle] ?? 0) < wanted) from = middle + 1;
    else to = middle;
  }
  return sorted[from] === wanted;
}
