import type { IndexHome, Tier } from '@tiered/core';
import { tagOf } from '@tiered/core/internal';
import type { IndexClient } from '../index/index-client.js';
import { OWN_DIRECTORIES } from './accounts.js';
import type { IndexWriter } from '../index/index-writer.js';

/** What completing an index needs. */
export interface CompletingParts {
  readonly client: IndexClient;
  readonly writer: IndexWriter;
  readonly home: IndexHome;
  readonly tier: Tier;
  /** Since when the machine runs, and in which index that was noted. */
  readonly boot: string;
  /** What the index says that directories take, in bytes. */
  readonly before: number;
}

/**
 * Sees to it that all that is on the storage is in the index, where that is not known: the index is new, or the machine was
 * started since, and a power cut may have come between. Costs a listing; until then nothing is placed, because what is not
 * known fills the tier too.
 */
export async function completeIndex(
  { client, writer, home, tier, boot, before }: CompletingParts,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { directories } = await deleteUnknown(client, tier, signal);
  const overhead = home.isOnTier ? (directories + OWN_DIRECTORIES) * home.blockBytes : 0;
  await writer.patiently(() => client.call('swept', { boot, overhead, before }));
  writer.write();
  await writer.settled();
}

/**
 * Deletes what is on a tier and not in its index: a power cut may have taken changes of the index with it. Costs a listing, and
 * memory of 8 bytes a copy, and of a directory's name for each directory, for as long.
 *
 * @returns How many directories there are for what remains.
 */
async function deleteUnknown(
  index: IndexClient,
  { driver }: Tier,
  signal: AbortSignal | undefined,
): Promise<{ readonly directories: number }> {
  const tags = await index.call('tags', undefined);
  const directories = new Set<string>();
  for await (const page of driver.list({ signal })) {
    const names = page.map(({ key }) => key).filter((name) => !includes(tags, tagOf(name)));
    for (const { key } of page) addDirectories(directories, key);
    if (names.length === 0) continue;
    // Another process may have placed something since the tags were read: a name is in the index before it is on the storage.
    const asked = names.map(tagOf).filter((tag) => tag !== undefined);
    const unknown = new Set(await index.call('unknown', { tags: asked }));
    for (const name of names) {
      const tag = tagOf(name);
      if (tag === undefined || unknown.has(tag)) await driver.delete(name, { signal });
    }
  }
  return { directories: directories.size };
}

function addDirectories(directories: Set<string>, name: string): void {
  for (let end = name.lastIndexOf('/'); end > 0; end = name.lastIndexOf('/', end - 1)) {
    const directory = name.slice(0, end);
    if (directories.has(directory)) return;
    directories.add(directory);
  }
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
