import type { PlacementHost } from '@tiered/core/placement';
import { ABSENT } from '@tiered/core/internal';
import type { Copy, TierStore } from '../tier/tier-store.js';

/** Decides what happens to the copies that a tier holds already. */
export interface TakingOver {
  /** Whether a copy is of the version of the object that is known. */
  readonly matches: (id: number, copy: Copy) => boolean;
  /** Serves the copy from now on. */
  readonly adopt: (id: number, copy: Copy) => void;
  /** The copy is of another version, or of no known object. */
  readonly outdated: (copy: Copy) => void;
  /** Deletes the copy. Does not reject. */
  readonly remove: (copy: Copy) => Promise<void>;
}

/** Goes through all copies of a tier, a page at a time, and gives the event loop a turn between pages. */
export async function takeOver(
  store: TierStore,
  host: PlacementHost,
  closing: AbortSignal,
  { matches, adopt, outdated, remove }: TakingOver,
): Promise<void> {
  const { namespace, complete, clock } = host;
  // Done already when the process started, unless the tier did not work then.
  await shrinkToQuota(store, host, remove, closing);
  let isAllKnown = true;
  // A source without any object is more likely not mounted than emptied.
  const isComplete = complete && namespace.known > 0;
  await store.beginTakingOver(closing);
  for await (const page of store.pages()) {
    for (const copy of page) {
      const id = namespace.find(copy.key);
      if (id !== ABSENT && matches(id, copy)) adopt(id, copy);
      else if (id !== ABSENT || isComplete) outdated(copy);
      else isAllKnown = false;
    }
    await clock.turn();
    if (closing.aborted) return;
  }
  await store.endTakingOver(closing, isAllKnown);
}

/**
 * Removes copies until the tier holds its quota, which is smaller than at the last start, or than that of
 * other members. This dataset's own copies go first.
 */
export async function shrinkToQuota(
  store: TierStore,
  host: PlacementHost,
  remove: (copy: Copy) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { level } = store.tier;
  // A copy that was removed counts until every member has let go of it. Removing more does not speed that up.
  const holds = async () => store.excessBytes === 0 || store.excessBytes <= (await store.leavingBytes());
  for (const others of [false, true]) {
    if (await holds()) return;
    for await (const page of store.pages({ others })) {
      for (const copy of page) {
        if (signal?.aborted === true || (await holds())) return;
        for (const one of (await store.together?.(copy)) ?? [copy]) {
          await remove(one);
          // Copies of another dataset in the same segment are no objects of this one.
          if (!others && one.row?.dataset === copy.row?.dataset) host.dropped(one.key, level, 'evicted');
        }
      }
    }
  }
}
