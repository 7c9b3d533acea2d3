import path from 'node:path';
import { TieredError } from '@tiered/core';

/** The directory at the root that belongs to the driver. It is never an object and never listed. */
export const PRIVATE_DIRECTORY = '.tiered';

/**
 * Whether a name at the root means the private directory on any file system. Some fold case, normalise (ZFS
 * by compatibility), or ignore invisible characters (ext4), or dots and spaces at the end (FAT). So a few
 * more odd names are refused than any single file system would take for it.
 */
export function isPrivate(name: string): boolean {
  if (name === PRIVATE_DIRECTORY) return true;
  // The quick answer for nearly all names.
  if (!MAY_BE_PRIVATE.test(name)) return false;
  const seen = name.normalize('NFKD').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '');
  return (
    seen
      .toUpperCase()
      .toLowerCase()
      .replace(/[. ]+$/, '') === PRIVATE_DIRECTORY
  );
}

const MAY_BE_PRIVATE = /^(?:\.t|[^\0-\x7f]|\.[^\0-\x7f])/i;

/**
 * Returns the path of a key below a root. The mapping is one to one, so keys that could name a file twice or
 * leave the root are refused: absolute keys, empty, `.` and `..` segments, NUL, and the driver's own
 * directory.
 * @throws TieredError `TIERED_KEY_INVALID`
 */
export function pathOfKey(root: string, key: string, driver: string): string {
  const problem = problemOf(key);
  if (problem !== undefined) {
    throw new TieredError(
      'TIERED_KEY_INVALID',
      `${driver}: the key ${JSON.stringify(key)} ${problem}; keys are paths relative to the root, such as "train/00001.jpg".`,
      { driver, key },
    );
  }
  // Not `path.join`, which would normalize the path again for every file that is opened.
  return root + path.sep + key;
}

/** The error for a key whose symbolic links lead out of the root. */
export function leavesRoot(driver: string, key: string): TieredError {
  return new TieredError(
    'TIERED_KEY_INVALID',
    `${driver}: ${JSON.stringify(key)} leads out of the root by a symbolic link, which is refused; ` +
      `copy the file into the root, or make the link's target the root.`,
    { driver, key },
  );
}

/**
 * Matches the few keys that need a closer look: a segment is empty or begins with a dot, or a character is
 * special.
 */
const UNUSUAL = /(?:^|\/)(?:[./]|$)|[\0\\:]|^[^\0-\x7f]/;

/** Returns the problem of a key, in words. Undefined if there is none. */
export function problemOf(key: string): string | undefined {
  if (!UNUSUAL.test(key)) return undefined;
  if (key.includes('\0')) return 'contains NUL';
  if (key.startsWith('/')) return 'is absolute';
  if (process.platform === 'win32' && /[\\:]/.test(key)) return 'contains a backslash or a colon';
  const segments = key.split('/');
  if (segments.includes('..')) return 'contains ".."';
  if (segments.includes('.') || segments.includes('')) return 'contains an empty segment or "."';
  if (isPrivate(segments[0] ?? '')) return `is in ${PRIVATE_DIRECTORY}, which the driver keeps for itself`;
  return undefined;
}

/** Whether a real path is the root or below it. */
export function isInside(root: string, realPath: string): boolean {
  return realPath === root || realPath.startsWith(root.endsWith(path.sep) ? root : root + path.sep);
}
