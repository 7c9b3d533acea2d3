import type { Clock, Hierarchy, OperationOptions } from '@tiered/core';
import { placeInOrder } from '@tiered/tiering';

/** Objects exchanged at a time, which is how many are evicted in vain if the others do not come. */
const EXCHANGED = 16;
/**
 * Milliseconds between two looks for room on a tier, and the most looks without a new object, 10 s. Room
 * freed by a copy of another process is seen when the tier's index is read, once a second, or later on a busy
 * machine.
 */
const LOOK_MS = 100;
const MOST_LOOKS = 100;

/** Deletes a copy, like `PlacementHandler.evict`. Resolves to whether there was one. */
export type Evict = (key: string, options: OperationOptions) => Promise<boolean>;

/** The objects to exchange on a level, by their numbers in the namespace. */
export interface Exchanged {
  /** Objects to bring, in the order they are read. */
  readonly missing: Uint32Array;
  /** Objects that may be evicted for them, the least valuable first. */
  readonly leaves: readonly number[];
}

/** Options of `exchange`. */
export interface ExchangeOptions {
  readonly evict: Evict;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Evicts copies from a tier to make room for missing ones: a few at a time, and no more once the missing ones
 * do not come. Several processes may do so at the same time. With the same plan they evict the same copies,
 * and the first process to bring a planned object gets the room.
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

/** Places objects as soon as there is room. Returns whether any was placed. */
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
