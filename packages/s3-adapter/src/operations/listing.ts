import type { ObjectStat } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';
import type { S3Client } from '../http/client.js';
import { compareKeys } from '../http/keys.js';
import { fetchPage, type Page } from './listing-page.js';
import { walkPages } from './page-walk.js';

/** What to list. */
export interface ListingOptions {
  readonly prefix: string;
  /** Ranges of keys that are listed concurrently. */
  readonly concurrency: number;
  readonly signal: AbortSignal | undefined;
}

type Objects = readonly ObjectStat[];
type Pages = AsyncGenerator<Objects, void, undefined>;

/**
 * Lists the objects under a prefix, page by page as they arrive. A listing of more than one page is split at
 * directories into ranges of keys. These are listed concurrently, each at most one page ahead of its reader.
 * The cost is one request to find the directories, and at most one more for each range, whose last page may
 * be half used.
 */
export async function* listObjects(client: S3Client, { prefix, concurrency, signal }: ListingOptions): Pages {
  const opening = walkPages(client, { prefix }, false, signal);
  const first = (await opening.next()).value;
  if (first === undefined) return;
  yield first.objects;
  if (first.next === undefined) return;
  // A server that does not sort (S3 Express) has no ranges of keys.
  const sorted = isSorted(first.objects);
  const last = first.objects.at(-1)?.key;
  const bounds =
    concurrency > 1 && last !== undefined && sorted
      ? await findBounds(client, prefix, last, concurrency, signal)
      : [];
  const end = new AbortController();
  const stopListening = onAbort(signal, (reason) => end.abort(reason));
  const ranges = [undefined, ...bounds].map((startAfter, i) => {
    const from = startAfter === undefined ? { prefix, token: first.next } : { prefix, startAfter };
    return pagesOf(walkPages(client, from, sorted, end.signal), startAfter, bounds[i]);
  });
  try {
    yield* merged(ranges, end);
  } finally {
    stopListening();
  }
}

/** Directories after a key, evenly picked: one fewer than the number of ranges. */
async function findBounds(
  client: S3Client,
  prefix: string,
  startAfter: string,
  ranges: number,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const { prefixes } = await fetchPage(client, { prefix, startAfter, delimiter: '/' }, signal);
  const sorted = prefixes.filter((found) => compareKeys(found, startAfter) > 0).sort(compareKeys);
  const count = Math.min(ranges - 1, sorted.length);
  return Array.from({ length: count }, (_, i) => sorted[Math.floor((i * sorted.length) / count)] ?? '');
}

/** The objects of one range of keys: those after a key, up to and including another. */
async function* pagesOf(
  pages: AsyncGenerator<Page, void, undefined>,
  startAfter: string | undefined,
  upTo: string | undefined,
): Pages {
  for await (const { objects } of pages) {
    const [first, last] = [objects[0]?.key ?? '', objects.at(-1)?.key ?? ''];
    // A server that does not support start-after begins at the first key. Other ranges list those keys.
    const isEarly = startAfter !== undefined && compareKeys(first, startAfter) <= 0;
    const isOver = upTo !== undefined && compareKeys(last, upTo) > 0;
    const isWithin = ({ key }: ObjectStat) =>
      (!isEarly || compareKeys(key, startAfter) > 0) && (!isOver || compareKeys(key, upTo) <= 0);
    const within = isEarly || isOver ? objects.filter(isWithin) : objects;
    if (within.length > 0) yield within;
    if (isOver) return;
  }
}

/**
 * Merges the pages of several generators as they arrive. Each generator is asked for its next page when one
 * was taken. Ends all of them.
 */
async function* merged(generators: readonly Pages[], end: AbortController): Pages {
  const next = (pages: Pages) => pages.next().then((result) => ({ pages, result }));
  const waiting = new Map(generators.map((pages) => [pages, next(pages)]));
  try {
    while (waiting.size > 0) {
      const { pages, result } = await Promise.race(waiting.values());
      if (result.done === true) {
        waiting.delete(pages);
      } else {
        const step = next(pages);
        // It is not awaited before this page was taken, so until then its error must not count as unhandled.
        step.catch(() => undefined);
        waiting.set(pages, step);
        yield result.value;
      }
    }
  } finally {
    end.abort(new Error('The listing is over.'));
    await Promise.allSettled(waiting.values());
  }
}

function isSorted(objects: Objects): boolean {
  return objects.every(({ key }, i) => i === 0 || compareKeys(objects[i - 1]?.key ?? '', key) < 0);
}
