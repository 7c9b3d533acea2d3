import type { PlacementHost } from '@tiered/core';
import { raceAbort } from '@tiered/core/internal';
import type { Copies } from '../copies/copy-index.js';
import type { Placings } from './fill-queue.js';

/** What placing an object needs. */
export interface PlaceNowParts {
  readonly host: PlacementHost;
  readonly copies: Copies;
  readonly placings: Placings;
}

/**
 * Puts an object on a tier, ahead of any read, and resolves to its level: the source's, if no tier takes it. Waits for as long as
 * tiers are behind, and others are on their way to them.
 */
export async function placeNow(
  { host, copies, placings }: PlaceNowParts,
  closing: AbortSignal,
  id: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  for (let waited = false; ;) {
    signal?.throwIfAborted();
    closing.throwIfAborted();
    const level = host.namespace.levelOf(id);
    if (level < host.tiers.length || (await copies.isHeld(id))) return host.namespace.levelOf(id);
    const running = placings.of(id);
    if (running !== undefined) {
      await raceAbort(running.ended, signal);
      closing.throwIfAborted();
      return host.namespace.levelOf(id);
    }
    if (copies.isRemoving(id)) {
      // It could not be deleted, and keeps its bytes until it can.
      if (waited) return host.namespace.levelOf(id);
      waited = true;
      await raceAbort(Promise.all(copies.underWay), signal);
    } else {
      const begun = placings.tryToStart(id);
      const { asked } = copies;
      if (begun === undefined) return host.namespace.levelOf(id);
      if (begun !== 'behind') continue;
      if (asked !== undefined) await raceAbort(asked, signal);
      else if (placings.count > 0) await raceAbort(placings.oneEnded(), signal);
      else {
        placings.leaveBehind(id);
        return host.namespace.levelOf(id);
      }
    }
  }
}
