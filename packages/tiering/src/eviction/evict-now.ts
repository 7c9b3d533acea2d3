import { raceAbort } from '@tiered/core/internal';
import type { PlaceNowParts } from '../fill/place-now.js';

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
