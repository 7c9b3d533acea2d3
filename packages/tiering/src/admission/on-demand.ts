import type { ObjectRef, PlacementHost } from '@tiered/core/placement';
import { raceAbort } from '@tiered/core/internal';
import type { CopyIndex } from '../ledger/copy-index.js';
import { OtherFetch } from '../tier/fetch-turns.js';
import type { Fills } from './fills.js';
import { turnOrCopy } from './turn-or-copy.js';

/**
 * Milliseconds between checks for a copy that another process makes, and the maximum number of checks. 5
 * seconds are enough for objects that several processes place at the same moment.
 */
const LOOK_MS = 100;
const MOST_LOOKS = 50;

/** Dependencies of `placeNow`. */
export interface PlaceNowParts {
  readonly host: PlacementHost;
  readonly copies: CopyIndex;
  readonly fills: Fills;
}

/**
 * Places an object on a tier ahead of any read. Resolves to its level, or to the source's level if no tier
 * takes it. While tiers are behind, waits as long as other objects are in flight to them. While another
 * process makes the same copy, waits for it for some seconds.
 */
export async function placeNow(
  parts: PlaceNowParts,
  closing: AbortSignal,
  object: ObjectRef,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { host, copies, fills } = parts;
  const { id } = object;
  for (let waited = false; ;) {
    signal?.throwIfAborted();
    closing.throwIfAborted();
    if (host.namespace.levelOf(id) < host.tiers.length) return host.namespace.levelOf(id);
    const look = async (isInTurn: boolean) => (await copies.isHeld(object, isInTurn)) || undefined;
    const found = await turnOrCopy(fills, object, look, closing, signal);
    if ('copy' in found) return host.namespace.levelOf(id);
    const { turn } = found;
    const running = fills.of(id);
    if (running !== undefined) {
      turn?.end();
      const outcome = await raceAbort(running.outcome, signal);
      if (outcome === 'elsewhere') await copyOfAnother(parts, closing, object, signal);
      closing.throwIfAborted();
      return host.namespace.levelOf(id);
    }
    if (copies.removals.isUnderWay(object.key)) {
      turn?.end();
      // The copy could not be deleted, and keeps its bytes until it is.
      if (waited) return host.namespace.levelOf(id);
      waited = true;
      await raceAbort(Promise.all(copies.underWay), signal);
    } else {
      const begun = fills.tryToStart(object, 'place', turn);
      const { asked } = copies.stores;
      if (begun === undefined) return host.namespace.levelOf(id);
      if (begun instanceof OtherFetch) continue;
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

/** Adopts the copy that another process has made, or is making. */
async function copyOfAnother(
  { host, copies }: PlaceNowParts,
  closing: AbortSignal,
  object: ObjectRef,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let looks = 1; !(await raceAbort(copies.isHeld(object), signal)) && looks < MOST_LOOKS; looks++)
    await raceAbort(host.clock.sleep(LOOK_MS, closing), signal);
}

/**
 * Deletes the served copy of an object. Resolves to true once its bytes are free, or to false if there is
 * none.
 */
export async function evictNow(
  { host, copies, fills }: PlaceNowParts,
  key: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const id = host.namespace.find(key);
  const level = id < 0 ? host.tiers.length : host.namespace.levelOf(id);
  if (level === host.tiers.length) return false;
  copies.drop(host.namespace.objectOf(id), level, 'evicted');
  fills.counts.evicted += 1;
  await raceAbort(copies.removals.ended(key), signal);
  return true;
}
