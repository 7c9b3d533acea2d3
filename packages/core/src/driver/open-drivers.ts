import pLimit, { type LimitFunction } from 'p-limit';
import { limited } from '../support/promises.js';
import type { OperationOptions, StorageDriver } from './driver.js';

/** A driver and its users: hierarchies, tiers and decorators. */
interface Opening {
  readonly users: Set<object>;
  /** Opening and closing take turns, so a driver that is being closed can be opened again afterwards. */
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
 * Opens a driver for one of its users, unless it is already open for another. A program may give one driver
 * to several hierarchies, and the first to close must not close it for the others.
 * @throws The driver's errors. It may be opened again then.
 */
export async function openFor(
  user: object,
  driver: StorageDriver,
  { signal }: OperationOptions,
): Promise<void> {
  const opening = openingOf(driver);
  // Added at once, so that another user who leaves meanwhile does not close the driver.
  opening.users.add(user);
  await limited(opening.turns, signal, async () => {
    if (opening.isOpen) return;
    await driver.open({ signal });
    opening.isOpen = true;
  });
}

/**
 * Ends the use of a driver by a user, whether it was opened or not. The last user closes the driver.
 * Idempotent, as `close` is.
 */
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
