import type { ObjectRef, PlacementHost } from '@tiered/core/placement';
import { raceAbort } from '@tiered/core/internal';
import type { CopyIndex } from '../ledger/copy-index.js';
import { OtherFetch } from '../tier/fetch-turns.js';
import type { Fills } from './fills.js';
import { turnOrCopy } from './turn-or-copy.js';

/**
 * Between two looks for the copy that another process makes, and the most looks: 5 seconds are enough for
 * objects that processes come to at the same moment.
 */
const LOOK_MS = 100;
const MOST_LOOKS = 50;

/** What placing an object needs. */
export interface PlaceNowParts {
  readonly host: PlacementHost;
  readonly copies: CopyIndex;
  readonly fills: Fills;
}

/**
 * Puts an object on a tier, ahead of any read. Resolves to its level, which is the source's if no tier takes
 * it. While tiers are behind, it waits for as long as other objects are on their way to them. While another
 * process makes the same copy, it waits for that, for some seconds.
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
    const look = async () => (await copies.isHeld(object)) || undefined;
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
      // The copy could not be deleted, and keeps its bytes until it can.
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

/** Takes in the copy that another process has made, or makes at this moment. */
async function copyOfAnother(
  { host, copies }: PlaceNowParts,
  closing: AbortSignal,
  object: ObjectRef,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let looks = 1; !(await raceAbort(copies.isHeld(object), signal)) && looks < MOST_LOOKS; looks++)
    await raceAbort(host.clock.sleep(LOOK_MS, closing), signal);
}

/** Deletes the copy that is served of an object, and resolves when its bytes are free; false without one. */
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
