import pLimit, { type LimitFunction } from 'p-limit';
import { limited } from '../support/limited.js';
import type { OperationOptions, StorageDriver } from './driver.js';
import { TieredError } from '../support/errors.js';
import type { Placement } from '../placement.js';

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

/** Which hierarchy has a placement. */
const holders = new WeakMap<Placement, object>();

/**
 * Gives a placement to a hierarchy that starts: for good, because it ends with that one.
 * @throws TieredError `TIERED_CONFIG_INVALID` if another one had it.
 */
export function startOnce(placement: Placement, hierarchy: object): void {
  if (holders.has(placement)) {
    const message =
      'placement: it served another hierarchy, and ends with that one; make a new PlacementHandler for each hierarchy.';
    throw new TieredError('TIERED_CONFIG_INVALID', message);
  }
  holders.set(placement, hierarchy);
}

/** Ends a placement, unless another hierarchy has it, and may go on. */
export async function endPlacement(placement: Placement, hierarchy: object): Promise<void> {
  if (holders.get(placement) === hierarchy) await placement.close();
}

/** What a decorator shows of another driver: the objects whose keys begin with a prefix. */
interface Shown {
  readonly driver: StorageDriver;
  readonly prefix: string;
}

const inside = new WeakMap<StorageDriver, Shown>();
/** Of each driver with nothing inside: the tiers that are open, and the prefix of the objects that each has for itself. */
const owners = new WeakMap<StorageDriver, Map<object, string>>();

/**
 * Remembers that a decorator is another driver with something around it: whoever owns one owns the other.
 * @param prefix If it shows only the objects whose keys begin so.
 */
export function isAround(decorator: StorageDriver, inner: StorageDriver, prefix = ''): void {
  inside.set(decorator, { driver: inner, prefix });
}

function innermost(driver: StorageDriver): Shown {
  const inner = inside.get(driver);
  if (inner === undefined) return { driver, prefix: '' };
  const shown = innermost(inner.driver);
  return { driver: shown.driver, prefix: shown.prefix + inner.prefix };
}

/**
 * Gives a driver, or what it shows of another, to a tier for itself: two that know nothing of each other must not keep copies by
 * one driver in one place. What has an index and no location is free, because nobody can share it but by sharing the driver.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field, if another tier has it, a part of it, or what it is a part of.
 */
export function own(tier: object, driver: StorageDriver, field: string): void {
  if (driver.capabilities.index && driver.location === undefined) return;
  const { driver: owned, prefix } = innermost(driver);
  const all = owners.get(owned) ?? new Map<object, string>();
  for (const [owner, other] of all) {
    if (owner === tier || !(prefix.startsWith(other) || other.startsWith(prefix))) continue;
    const got = `${driver.name}, whose storage is that of another tier that is open`;
    const message = `${field}: expected a driver or a prefix of its own, got ${got}; make a new driver for each hierarchy, or close the other first`;
    throw new TieredError('TIERED_CONFIG_INVALID', message, { driver: driver.name, operation: 'open' });
  }
  owners.set(owned, all.set(tier, prefix));
}

/** A tier is done with its driver. Idempotent. */
export function disown(tier: object, driver: StorageDriver): void {
  owners.get(innermost(driver).driver)?.delete(tier);
}
