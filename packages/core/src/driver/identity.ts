import type { StorageDriver } from './driver.js';

/**
 * Returns what identifies a storage from one start to the next. Copies and manifests of a storage are valid
 * for the same storage only.
 */
export function identityOf(driver: StorageDriver): string {
  return driver.identity ?? addressOf(driver);
}

/** Returns where a storage is, which may hold other data than it did. */
export function addressOf({ location, name }: StorageDriver): string {
  return location ?? name;
}

/** Whether an identity is of what was, or is, at a place, unless a user has named it. */
export function isIdentityAt(place: string, identity: string): boolean {
  return identity === place || identity.startsWith(`${place}#`);
}

/**
 * The identity that a storage had when it was known by its place alone. Copies that were kept under that are
 * taken over, because versions tell changed files apart. Undefined for images: versions are equal in two of
 * them.
 */
export function formerIdentityOf(driver: StorageDriver): string | undefined {
  const place = addressOf(driver);
  const identity = identityOf(driver);
  return isIdentityAt(place, identity) && !identity.startsWith(`${place}#image-`) ? place : undefined;
}
