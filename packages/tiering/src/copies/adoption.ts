import type { PlacementHost } from '@tiered/core';
import { ABSENT } from '@tiered/core/internal';
import type { Copy, TierStore } from '../tier/tier-store.js';

/** What becomes of the copies that a tier holds since before. */
export interface TakingOver {
  /** Whether a copy is of the object as it is known. */
  readonly matches: (id: number, copy: Copy) => boolean;
  /** It is served from now on. */
  readonly adopt: (id: number, copy: Copy) => void;
  /** It is of another version, or of no object. */
  readonly outdated: (copy: Copy) => void;
  /** It is deleted. Does not reject. */
  readonly remove: (copy: Copy) => Promise<void>;
}

/** Goes through all copies of a tier, a page at a time, and lets the event loop turn between them. */
export async function takeOver(
  store: TierStore,
  host: PlacementHost,
  closing: AbortSignal,
  { matches, adopt, outdated, remove }: TakingOver,
): Promise<void> {
  const { namespace, complete, clock } = host;
  // When the process started that was done already, unless the tier did not work then.
  await shrinkToQuota(store, host, remove, closing);
  let isAllKnown = true;
  await store.beginTakingOver(closing);
  for await (const page of store.pages()) {
    for (const copy of page) {
      const id = namespace.find(copy.key);
      if (id !== ABSENT && matches(id, copy)) adopt(id, copy);
      else if (id !== ABSENT || complete) outdated(copy);
      else isAllKnown = false;
    }
    await clock.turn();
    if (closing.aborted) return;
  }
  await store.endTakingOver(closing, isAllKnown);
}

/** The quota is smaller than at the last start, or than that of others: copies go until it holds, first one's own. */
export async function shrinkToQuota(
  store: TierStore,
  host: PlacementHost,
  remove: (copy: Copy) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { level } = store.tier;
  // What was removed counts until everybody has let go of it: that does not come sooner if more is removed.
  const holds = async () => store.excessBytes === 0 || store.excessBytes <= (await store.leavingBytes());
  for (const others of [false, true]) {
    if (await holds()) return;
    for await (const page of store.pages({ others })) {
      for (const copy of page) {
        if (signal?.aborted === true || (await holds())) return;
        for (const one of (await store.together?.(copy)) ?? [copy]) {
          await remove(one);
          // Those of another dataset in the same segment are no objects of this one.
          if (!others && one.row?.dataset === copy.row?.dataset) host.dropped(one.key, level, 'evicted');
        }
      }
    }
  }
}
