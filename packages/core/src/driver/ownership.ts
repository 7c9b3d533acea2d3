import { TieredError } from '../support/errors.js';
import type { StorageDriver } from './driver.js';

/** What a decorator shows of another driver: the objects whose keys begin with a prefix. */
interface Shown {
  readonly driver: StorageDriver;
  readonly prefix: string;
}

const inside = new WeakMap<StorageDriver, Shown>();
/**
 * For each driver that wraps no other one: the tiers that are open, and the prefix of the objects that each
 * has for itself.
 */
const owners = new WeakMap<StorageDriver, Map<object, string>>();

/**
 * Remembers that a decorator wraps another driver. The owner of one owns the other.
 * @param prefix The beginning of the keys that the decorator shows. Default: it shows all.
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
 * Gives a driver, or the part of one that a decorator shows, to one tier only. Two tiers that know nothing of
 * each other must not keep copies in one place by one driver. A driver that has an index and no location is
 * not owned, because only those who share the driver can share its storage.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field, if another tier has the same objects, a
 * part of them, or more that includes them.
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

/** Ends the ownership of a tier. Idempotent. */
export function disown(tier: object, driver: StorageDriver): void {
  owners.get(innermost(driver).driver)?.delete(tier);
}
