import { isTieredError, type Hierarchy, type OperationOptions } from '@tiered/core';
import { assertCounts, raceAbort } from '@tiered/core/internal';

/** Where objects were when `placeInOrder` was done with them. */
export interface FillCounts {
  /** Objects on each level, the fastest first; also those that were there before. */
  readonly placed: readonly number[];
  /** Objects in the source: no level took them, or fetching them failed. */
  readonly left: number;
  /** Objects that could not be looked up, such as those that the source does not have. */
  readonly failed: number;
}

/** Options of `placeInOrder`. */
export interface PlaceInOrderOptions extends OperationOptions {
  /**
   * Objects on their way at the same time, at least 1. Default: 6, the pool of `PlacementHandler`, which lets no more
   * requests through to the source in the background, and only one beside a reader that waits.
   */
  readonly concurrency?: number | undefined;
  /** Called after each object with what has come of all so far. What it throws ends the filling. */
  readonly onProgress?: ((counts: FillCounts) => void) | undefined;
  /** Called for each object that could not be looked up. What it throws ends the filling. */
  readonly onFailed?: ((key: string, error: unknown) => void) | undefined;
}

/**
 * Puts objects on tiers ahead of their reads, in the order given: before a training, or beside it, as NoPFS does for each
 * storage class (HDMLP, sections 5.1 and 5.2). Which level an object goes to, if any, is the policy's business.
 *
 * Objects are begun in order, so many at a time; an object that a reader is just having placed is waited for, and not
 * fetched twice. Keys are taken one by one as there is a place for them, so that a sequence of millions costs no memory.
 *
 * One object's fault costs speed and no data, so it goes on: an object that could not be fetched is left in the source (the
 * hierarchy's event `placementFailed` says why), and its next read tries again; one that the hierarchy cannot look up is
 * counted as failed.
 * @param hierarchy Started.
 * @param keys Objects; each once.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a concurrency that is none; `TIERED_NOT_OPEN` and `TIERED_CLOSED` of the
 * hierarchy; what the keys threw. Abort rejects with `signal.reason` at once, whatever the source does; no key is taken any more,
 * and objects that are on their way get there, or not, as `Hierarchy.idle` tells.
 */
export async function placeInOrder(
  hierarchy: Hierarchy,
  keys: Iterable<string> | AsyncIterable<string>,
  { concurrency = 6, signal, onProgress, onFailed }: PlaceInOrderOptions = {},
): Promise<FillCounts> {
  assertCounts({ concurrency });
  const placed = hierarchy.stats().tiers.map(() => 0);
  const counts = { left: 0, failed: 0 };
  const place = async (key: string) => {
    try {
      const level = await hierarchy.place(key, { signal });
      if (level < placed.length) placed[level] = (placed[level] ?? 0) + 1;
      else counts.left += 1;
    } catch (error) {
      if (signal?.aborted === true || END_ALL.some((code) => isTieredError(error, code))) throw error;
      counts.failed += 1;
      onFailed?.(key, error);
    }
    onProgress?.({ placed: [...placed], ...counts });
  };
  await forEach(keys, concurrency, signal, place);
  return { placed, ...counts };
}

/** What no other object would be spared. */
const END_ALL = ['TIERED_NOT_OPEN', 'TIERED_CLOSED'] as const;

/** Works on items in order, so many at a time; takes none after a failure or an abort, and ends when all work has. */
async function forEach<T>(
  items: Iterable<T> | AsyncIterable<T>,
  concurrency: number,
  signal: AbortSignal | undefined,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const remaining = oneByOne(items);
  let failure: { readonly error: unknown } | undefined;
  const lane = async () => {
    try {
      while (failure === undefined) {
        signal?.throwIfAborted();
        const next = await raceAbort(remaining.next(), signal);
        if (next.done === true || failure !== undefined) return;
        await work(next.value);
      }
    } catch (error) {
      failure ??= { error };
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  // Not waited for: items that never come would keep it.
  remaining.return().catch(() => undefined);
  if (failure !== undefined) throw failure.error;
}

/** The same for both kinds of iterables, and for several who ask at once: each gets the next. */
async function* oneByOne<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  yield* items;
}
