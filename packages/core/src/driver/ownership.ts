import { TieredError } from '../support/errors.js';
import type { StorageDriver } from './driver.js';

/** What a decorator shows of another driver: the objects whose keys begin with a prefix. */
interface Shown {
  readonly driver: StorageDriver;
  readonly prefix: string;
}

const inside = new WeakMap<StorageDriver, Shown>();
/**
 * Of each driver with nothing inside: the tiers that are open, and the prefix of the objects that each has for itself.
 */
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
 * Gives a driver, or what it shows of another, to a tier for itself: two that know nothing of each other must not keep
 * copies by one driver in one place. What has an index and no location is free, because nobody can share it but by
 * sharing the driver.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field, if another tier has it, a part of it, or what it is
 * a part of.
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
