import { TieredError } from '../support/errors.js';
import type { StorageDriver } from './driver.js';

/** The part of a driver that a decorator shows: the objects whose keys begin with a prefix. */
interface Shown {
  readonly driver: StorageDriver;
  readonly prefix: string;
}

const inside = new WeakMap<StorageDriver, Shown>();
/**
 * For each driver that wraps no other driver: the open tiers, and the prefix of the objects that each tier
 * owns.
 */
const owners = new WeakMap<StorageDriver, Map<object, string>>();

/**
 * Records that a decorator wraps another driver. The owner of one owns the other.
 * @param prefix The common prefix of the keys that the decorator shows. Default: it shows all.
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
 * Gives a driver, or the part of one that a decorator shows, to one tier only. Two tiers that do not know of
 * each other must not keep copies in one place through one driver. A driver with an index and no location is
 * not owned, because only users of the same driver can share its storage.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field, if another tier owns the same objects, a
 * subset or a superset of them.
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
