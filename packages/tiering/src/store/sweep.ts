import type { IndexHome, Tier } from '@tiered/core';
import { tagOf } from '@tiered/core/internal';
import type { IndexClient } from '../index-client.js';

/**
 * Deletes what is on a tier and not in its index: a power cut may have taken changes of the index with it. Costs a listing, and
 * memory of 8 bytes a copy for as long.
 */
export async function deleteUnknown(
  index: IndexClient,
  { driver }: Tier,
  signal: AbortSignal | undefined,
): Promise<void> {
  const tags = await index.call('tags', undefined);
  for await (const page of driver.list({ signal })) {
    const names = page.map(({ key }) => key).filter((name) => !includes(tags, tagOf(name)));
    if (names.length === 0) continue;
    // Another process may have placed something since the tags were read: a name is in the index before it is on the storage.
    const asked = names.map(tagOf).filter((tag) => tag !== undefined);
    const unknown = new Set(await index.call('unknown', { tags: asked }));
    for (const name of names) {
      const tag = tagOf(name);
      if (tag === undefined || unknown.has(tag)) await driver.delete(name, { signal });
    }
  }
}

/** What directories take. Undefined if that cannot be told: copies came or went meanwhile, or the driver does not say. */
export async function measuredOverhead(
  index: IndexClient,
  { member, isOnTier }: IndexHome,
  { driver }: Tier,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const before = await index.call('state', { member });
  const { occupiedBytes } = await driver.usage({ signal });
  const { claimed, occupied, fileBytes } = await index.call('state', { member });
  const isStill = before.claimed + claimed === 0 && before.occupied === occupied;
  if (occupiedBytes === undefined || !isStill) return undefined;
  return Math.max(0, occupiedBytes - occupied - (isOnTier ? fileBytes : 0));
}

/** Whether sorted numbers include one. */
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
