import type { ObjectRef, PlacementHost } from '@tiered/core/placement';
import { raceAbort } from '@tiered/core/internal';
import type { CopyIndex } from '../copies/copy-index.js';
import type { Fills } from './fills.js';

/** What placing an object needs. */
export interface PlaceNowParts {
  readonly host: PlacementHost;
  readonly copies: CopyIndex;
  readonly fills: Fills;
}

/**
 * Puts an object on a tier, ahead of any read. Resolves to its level, which is the source's if no tier takes
 * it. While tiers are behind, it waits for as long as other objects are on their way to them.
 */
export async function placeNow(
  { host, copies, fills }: PlaceNowParts,
  closing: AbortSignal,
  object: ObjectRef,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { id } = object;
  for (let waited = false; ;) {
    signal?.throwIfAborted();
    closing.throwIfAborted();
    const level = host.namespace.levelOf(id);
    if (level < host.tiers.length || (await copies.isHeld(object))) return host.namespace.levelOf(id);
    const running = fills.of(id);
    if (running !== undefined) {
      await raceAbort(running.ended, signal);
      closing.throwIfAborted();
      return host.namespace.levelOf(id);
    }
    if (copies.removals.isUnderWay(object.key)) {
      // The copy could not be deleted, and keeps its bytes until it can.
      if (waited) return host.namespace.levelOf(id);
      waited = true;
      await raceAbort(Promise.all(copies.underWay), signal);
    } else {
      const begun = fills.tryToStart(object, 'place');
      const { asked } = copies.stores;
      if (begun === undefined) return host.namespace.levelOf(id);
      if (begun !== 'behind') continue;
      if (asked !== undefined) await raceAbort(asked, signal);
      else if (fills.count > 0) await raceAbort(fills.oneEnded(), signal);
      else {
        fills.leaveBehind(id);
        return host.namespace.levelOf(id);
      }
    }
  }
}
