import pLimit, { type LimitFunction } from 'p-limit';
import { limited } from './limited.js';
import type { OperationOptions, StorageDriver } from './driver.js';
import { TieredError } from './errors.js';
import type { Placement } from './placement.js';

/** A driver, and who uses it: hierarchies, tiers and decorators. */
interface Opening {
  readonly users: Set<object>;
  /** Opening and closing take turns: a driver that is just being closed is opened afterwards. */
  readonly turns: LimitFunction;
  isOpen: boolean;
}

const openings = new WeakMap<StorageDriver, Opening>();

function openingOf(driver: StorageDriver): Opening {
  let opening = openings.get(driver);
  if (opening === undefined) {
    opening = { users: new Set(), turns: pLimit(1), isOpen: false };
    openings.set(driver, opening);
  }
  return opening;
}

/**
 * Opens a driver for one of those who use it, unless it is open for another already: a program may give one driver to
 * several hierarchies, and the first that closes must not take it from the others.
 * @throws What the driver throws; it may be opened again then.
 */
export async function openFor(
  user: object,
  driver: StorageDriver,
  { signal }: OperationOptions,
): Promise<void> {
  const opening = openingOf(driver);
  // At once: a user who leaves meanwhile must not close it.
  opening.users.add(user);
  await limited(opening.turns, signal, async () => {
    if (opening.isOpen) return;
    await driver.open({ signal });
    opening.isOpen = true;
  });
}

/** A user is done with a driver, whether it was opened or not; the last one closes it. Idempotent, as `close` is. */
export async function closeFor(user: object, driver: StorageDriver): Promise<void> {
  const opening = openingOf(driver);
  opening.users.delete(user);
  if (opening.users.size > 0) return;
  await opening.turns(async () => {
    if (opening.users.size > 0) return;
    opening.isOpen = false;
    await driver.close();
  });
}

const started = new WeakSet<Placement>();

/**
 * Gives a placement to a hierarchy that starts: for good, because it ends with that one.
 * @throws TieredError `TIERED_CONFIG_INVALID` if another one had it.
 */
export function startOnce(placement: Placement): void {
  if (started.has(placement)) {
    const message =
      'placement: it served another hierarchy, and ends with that one; make a new PlacementHandler for each hierarchy.';
    throw new TieredError('TIERED_CONFIG_INVALID', message);
  }
  started.add(placement);
}

/** What decorators are around, and which tier has a driver for itself. */
const inside = new WeakMap<StorageDriver, StorageDriver>();
const owners = new WeakMap<StorageDriver, object>();

/** Remembers that a decorator is another driver with something around it: whoever owns one owns the other. */
export function isAround(decorator: StorageDriver, inner: StorageDriver): void {
  inside.set(decorator, inner);
}

function innermost(driver: StorageDriver): StorageDriver {
  const inner = inside.get(driver);
  return inner === undefined ? driver : innermost(inner);
}

/**
 * Gives a driver to a tier for itself: two that know nothing of each other must not keep copies by one driver. What has an
 * index and no location is free, because nobody can share it but by sharing the driver.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field, if another tier has it.
 */
export function own(tier: object, driver: StorageDriver, field: string): void {
  if (driver.capabilities.index && driver.location === undefined) return;
  const owned = innermost(driver);
  if ((owners.get(owned) ?? tier) !== tier) {
    const got = `${driver.name}, which is a tier of another hierarchy that is open`;
    const message = `${field}: expected a driver of its own, got ${got}; make a new driver for each hierarchy, or close the other first`;
    throw new TieredError('TIERED_CONFIG_INVALID', message, { driver: driver.name, operation: 'open' });
  }
  owners.set(owned, tier);
}

/** A tier is done with its driver. Idempotent. */
export function disown(tier: object, driver: StorageDriver): void {
  const owned = innermost(driver);
  if (owners.get(owned) === tier) owners.delete(owned);
}
