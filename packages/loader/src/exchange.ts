import type { Clock, Hierarchy, OperationOptions } from '@tiered/core';
import { placeInOrder } from '@tiered/tiering';

/** Objects that are exchanged at a time: as many leave for nothing if the others do not come. */
const EXCHANGED = 16;
/**
 * Between two looks whether a tier has the room, and the most looks at which nothing comes, 10 s: room that a
 * copy of another process had is seen when the index of the tier is looked at, once a second, or later on a
 * busy machine.
 */
const LOOK_MS = 100;
const MOST_LOOKS = 100;

/** Deletes a copy, as `PlacementHandler.evict` does. Resolves to whether there was one. */
export type Evict = (key: string, options: OperationOptions) => Promise<boolean>;

/** What is exchanged on a level, by the numbers of objects in the namespace. */
export interface Exchanged {
  /** What is to come, in the order in which it is read. */
  readonly missing: Uint32Array;
  /** What may leave for it, that first which is worth least. */
  readonly leaves: readonly number[];
}

/** What an exchange works with. */
export interface ExchangeOptions {
  readonly evict: Evict;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Has copies leave a tier for those that are missing there: a few at a time, and no more once those do not
 * come. Several processes may do so at the same time. With the same plan they let the same copies go, and the
 * room is for whoever brings what all of them plan.
 * @throws `signal.reason` after an abort.
 */
export async function exchange(
  hierarchy: Hierarchy,
  { missing, leaves }: Exchanged,
  options: ExchangeOptions,
): Promise<void> {
  const { namespace } = hierarchy;
  let left = 0;
  for (let at = 0; at < missing.length && left < leaves.length; at += EXCHANGED) {
    const group = [...missing.subarray(at, at + EXCHANGED)];
    let needed = group.reduce((sum, id) => sum + namespace.sizeOf(id), 0);
    for (; needed > 0 && left < leaves.length; left++) {
      const id = leaves[left] ?? 0;
      if (await options.evict(namespace.keyOf(id), options)) needed -= namespace.sizeOf(id);
    }
    if (!(await bring(hierarchy, group, options))) return;
  }
}

/** Places objects as soon as there is room. Returns whether any of them came. */
async function bring(
  hierarchy: Hierarchy,
  group: readonly number[],
  { clock, signal }: ExchangeOptions,
): Promise<boolean> {
  const { namespace, tiers } = hierarchy;
  const missing = () => group.filter((id) => namespace.levelOf(id) >= tiers.length);
  for (let looks = 0, before = missing(); looks < MOST_LOOKS && before.length > 0; looks++) {
    const keys = before.map((id) => namespace.keyOf(id));
    await placeInOrder(hierarchy, keys, { signal });
    const now = missing();
    if (now.length < before.length) looks = 0;
    if (now.length > 0) await clock.sleep(LOOK_MS, signal, { background: true });
    before = now;
  }
  return missing().length < group.length;
}
