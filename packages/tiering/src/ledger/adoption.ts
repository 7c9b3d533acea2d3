import type { PlacementHost } from '@tiered/core/placement';
import { ABSENT, isPacked } from '@tiered/core/internal';
import type { Copy, TierStore } from '../tier/tier-store.js';

/** Maximum number of copies that are removed together. Bounds the wait at close. */
const BATCH = 256;

/** Decides what happens to the copies that a tier already holds. */
export interface TakingOver {
  /** Whether a copy has the known version of the object. */
  readonly matches: (id: number, copy: Copy) => boolean;
  /** Serves the copy from now on. */
  readonly adopt: (id: number, copy: Copy) => void;
  /** Called for a copy of another version, or of no known object. */
  readonly outdated: (copy: Copy) => void;
  /** Deletes the copy. Does not reject. */
  readonly remove: (copy: Copy) => Promise<void>;
}

/**
 * Shrinks a tier to its quota, then visits all of its copies, a page at a time, and yields to the event loop
 * between pages.
 */
export async function takeOver(
  store: TierStore,
  host: PlacementHost,
  closing: AbortSignal,
  { matches, adopt, outdated, remove }: TakingOver,
): Promise<void> {
  const { namespace, complete, clock } = host;
  await shrinkToQuota(store, host, remove, closing);
  let isAllKnown = true;
  // A source without objects is more likely unmounted than emptied.
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
 * Removes copies until the tier meets its quota, if the quota is lower than at the last start, or than that
 * of other members. This dataset's own copies go first. Until it ends, the tier has no room.
 */
async function shrinkToQuota(
  store: TierStore,
  host: PlacementHost,
  remove: (copy: Copy) => Promise<void>,
  closing: AbortSignal,
): Promise<void> {
  for (const others of [false, true]) {
    if (store.excessBytes === 0) return;
    for await (const page of store.pages({ others })) {
      for (let rest = page; rest.length > 0;) {
        // A removed copy counts until every member has let go of it. Removing more does not speed that up.
        const excess = store.excessBytes - (await store.leavingBytes());
        if (excess <= 0 || closing.aborted) return;
        const { some, after } = await firstOf(store, rest, excess);
        rest = after;
        await Promise.all(some.map(remove));
        // Copies of another dataset are not objects of this one.
        if (!others) for (const { key } of some) host.dropped(key, store.tier.level, 'evicted');
      }
    }
  }
}

/**
 * Splits off the first copies that take this many bytes, at most a batch. The bytes that a segment frees are
 * known only once it is gone, so it is a batch of its own.
 */
async function firstOf(
  store: TierStore,
  copies: readonly Copy[],
  bytes: number,
): Promise<{ readonly some: readonly Copy[]; readonly after: readonly Copy[] }> {
  const some: Copy[] = [];
  let left = bytes;
  for (const [i, copy] of copies.entries()) {
    if (left <= 0 || some.length === BATCH) return { some, after: copies.slice(i) };
    if (isPacked(copy.tag)) {
      if (some.length > 0) return { some, after: copies.slice(i) };
      return { some: (await store.together?.(copy)) ?? [copy], after: copies.slice(i + 1) };
    }
    some.push(copy);
    left -= copy.row?.occupied ?? copy.bytes;
  }
  return { some, after: [] };
}
