import { isTieredError, type Hierarchy, type OperationOptions } from '@tiered/core';
import { assertCounts, raceAbort } from '@tiered/core/internal';

/** Numbers of objects by outcome, as counted by `placeInOrder`. */
export interface FillCounts {
  /** Objects on each level, fastest first, including objects that were already there. */
  readonly placed: readonly number[];
  /** Objects that stay in the source: no level took them, or fetching them failed. */
  readonly left: number;
  /** Objects that could not be looked up, for example because the source does not have them. */
  readonly failed: number;
}

/** Options of `placeInOrder`. */
export interface PlaceInOrderOptions extends OperationOptions {
  /**
   * Objects in flight at the same time, at least 1. Default: 6, the background pool of `PlacementHandler`.
   * More gain nothing: the handler admits no more background requests to the source, and only one while a
   * reader waits.
   */
  readonly concurrency?: number | undefined;
  /** Called after each object with the counts so far. If it throws, `placeInOrder` ends with that error. */
  readonly onProgress?: ((counts: FillCounts) => void) | undefined;
  /**
   * Called for each object that could not be looked up. If it throws, `placeInOrder` ends with that error.
   */
  readonly onFailed?: ((key: string, error: unknown) => void) | undefined;
}

/**
 * Places objects on tiers ahead of their reads, in the given order: before a training, or alongside it, as
 * NoPFS does for each storage class (HDMLP, sections 5.1 and 5.2). The policy decides which level an object
 * goes to, if any.
 *
 * Objects are started in order, `concurrency` at a time. If a read is already placing an object, that
 * placement is awaited, and nothing is fetched twice. Keys are taken one by one as slots become free, so a
 * sequence of millions costs no memory.
 *
 * A failure of one object costs speed but no data, so the other objects are still placed. An object that
 * could not be fetched stays in the source, and its next read retries; the hierarchy's event
 * `placementFailed` says why. An object that the hierarchy cannot look up counts as failed.
 *
 * Abort rejects with `signal.reason` at once, regardless of the source. No more keys are taken. Objects in
 * flight may or may not be placed; `Hierarchy.idle` waits for them.
 * @param hierarchy A started hierarchy.
 * @param keys Keys of the objects, each once.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a concurrency below 1 or not whole; `TIERED_NOT_OPEN` and
 * `TIERED_CLOSED` of the hierarchy. Errors of `keys` are passed through.
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

/** Errors that all other objects would meet as well. */
const END_ALL = ['TIERED_NOT_OPEN', 'TIERED_CLOSED'] as const;

/**
 * Processes items in order, `concurrency` at a time. Takes no more after a failure or an abort, and ends once
 * all work in progress has ended.
 */
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
  // Not awaited: an item that never comes would hold this up.
  remaining.return().catch(() => undefined);
  if (failure !== undefined) throw failure.error;
}

/** One iterator for both kinds of iterables. Several callers may ask at once; each gets the next item. */
async function* oneByOne<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  yield* items;
}
