import pLimit, { type LimitFunction } from 'p-limit';
import { limited } from '../support/limited.js';
import type { OperationOptions, StorageDriver } from './driver.js';

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
