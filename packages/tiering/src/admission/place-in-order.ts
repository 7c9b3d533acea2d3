import { isTieredError, type Hierarchy, type OperationOptions } from '@tiered/core';
import { assertCounts, raceAbort } from '@tiered/core/internal';

/** Where the objects are, as `placeInOrder` counts them. */
export interface FillCounts {
  /** Objects on each level, the fastest first, including those that were there before. */
  readonly placed: readonly number[];
  /** Objects that stay in the source: no level took them, or fetching them failed. */
  readonly left: number;
  /** Objects that could not be looked up, for example because the source does not have them. */
  readonly failed: number;
}

/** Options of `placeInOrder`. */
export interface PlaceInOrderOptions extends OperationOptions {
  /**
   * Objects on their way at the same time, at least 1. Default: 6, the background pool of `PlacementHandler`.
   * More gain nothing: the handler lets no more background requests through to the source, and only one
   * beside a reader that waits.
   */
  readonly concurrency?: number | undefined;
  /** Called after each object with the counts so far. If it throws, the filling ends with that error. */
  readonly onProgress?: ((counts: FillCounts) => void) | undefined;
  /** Called for each object that could not be looked up. If it throws, the filling ends with that error. */
  readonly onFailed?: ((key: string, error: unknown) => void) | undefined;
}

/**
 * Puts objects on tiers ahead of their reads, in the order given: before a training, or beside it, as NoPFS
 * does for each storage class (HDMLP, sections 5.1 and 5.2). The policy decides which level an object goes
 * to, if any.
 *
 * Objects are begun in order, `concurrency` at a time. If a reader is just having an object placed, that is
 * waited for, and nothing is fetched twice. Keys are taken one by one as there is a place for them, so a
 * sequence of millions costs no memory.
 *
 * The fault of one object costs speed but no data, so the filling goes on. An object that could not be
 * fetched is left in the source, and its next read tries again; the hierarchy's event `placementFailed` says
 * why. An object that the hierarchy cannot look up is counted as failed.
 *
 * Abort rejects with `signal.reason` at once, whatever the source does. No more keys are taken. Objects on
 * their way get there, or not; `Hierarchy.idle` waits for them.
 * @param hierarchy A hierarchy that was started.
 * @param keys Objects; each once.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a concurrency below 1 or not whole; `TIERED_NOT_OPEN` and
 * `TIERED_CLOSED` of the hierarchy. Errors of `keys` are thrown as they are.
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

/** Errors that every other object would meet as well. */
const END_ALL = ['TIERED_NOT_OPEN', 'TIERED_CLOSED'] as const;

/**
 * Works on items in order, `concurrency` at a time. Takes no more after a failure or an abort, and ends when
 * all work under way has ended.
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
