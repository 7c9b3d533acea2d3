import type { StorageDriver } from './driver.js';

/**
 * Returns the identity of a storage from one start to the next. Copies and manifests of a storage are valid
 * for the same storage only.
 */
export function identityOf(driver: StorageDriver): string {
  return driver.identity ?? addressOf(driver);
}

/** Returns the place of a storage. The data at that place may be replaced. */
export function addressOf({ location, name }: StorageDriver): string {
  return location ?? name;
}

/** Whether an identity belongs to past or present data at a place, unless a user has named it. */
export function isIdentityAt(place: string, identity: string): boolean {
  return identity === place || identity.startsWith(`${place}#`);
}

/**
 * Returns the identity that a storage had when it was known by its place alone. Copies kept under that
 * identity are taken over, because versions tell changed files apart. Undefined for images, because two
 * images can have equal versions.
 */
export function formerIdentityOf(driver: StorageDriver): string | undefined {
  const place = addressOf(driver);
  const identity = identityOf(driver);
  return isIdentityAt(place, identity) && !identity.startsWith(`${place}#image-`) ? place : undefined;
}
