import { TieredError } from '@tiered/core';

/** Paths that need a closer look. Hardly any does. */
const UNUSUAL = /^\p{White_Space}|\p{White_Space}(?:\/|$)|(?:^|\/)\.{0,2}(?:\/|$)|\\/u;

/**
 * Returns the problem of a path, in words. Undefined if there is none. OpenDAL trims paths, drops empty
 * segments, takes a slash at the end for a directory, and leaves `.` and `..` to the service. Such a path
 * leads to another object, or to none.
 * @param files Whether the service keeps objects as files. Its listings turn backslashes into slashes, and
 * trim the names of directories, so objects in those are not found.
 */
export function problemOf(path: string, files: boolean): string | undefined {
  if (!UNUSUAL.test(path)) return undefined;
  if (/^\p{White_Space}|\p{White_Space}$/u.test(path)) return 'begins or ends with white space';
  const segments = path.split('/');
  if (segments.includes('')) return 'has an empty segment';
  if (segments.includes('.') || segments.includes('..')) return 'has a segment "." or ".."';
  if (files && path.includes('\\')) return 'has a backslash';
  if (files && /\p{White_Space}\//u.test(path)) return 'has a directory that ends with white space';
  return undefined;
}

/** @throws TieredError `TIERED_KEY_INVALID` for a key whose path OpenDAL would change. */
export function assertKey(path: string, key: string, driver: string, files: boolean): void {
  const problem = problemOf(path, files);
  if (problem === undefined) return;
  throw new TieredError(
    'TIERED_KEY_INVALID',
    `${driver}: the key ${JSON.stringify(key)} ${problem}, which OpenDAL does not keep as it is; ` +
      'rename the object, or take a driver made for this storage.',
    { driver, key },
  );
}

/** The path whose listing contains all paths with this prefix. Undefined if no valid path has it. */
export function listingPath(beginning: string): string | undefined {
  if (/^\p{White_Space}/u.test(beginning)) return undefined;
  const segments = beginning.split('/');
  const last = segments.pop();
  if (segments.some((segment) => ['', '.', '..'].includes(segment))) return undefined;
  // An unfinished "..": keys may go on from there, but as a path it leads elsewhere.
  return last === '.' || last === '..' ? segments.map((segment) => `${segment}/`).join('') : beginning;
}
