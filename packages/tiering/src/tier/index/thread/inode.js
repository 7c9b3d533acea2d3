import fs from 'node:fs';

/**
 * Which file is at a path; 0 if there is none, or nobody may look. Another number at the same path is another
 * file. Nothing is opened: closing it would end the locks of a database.
 * @param {string} path
 * @returns {bigint}
 */
export function inodeOf(path) {
  try {
    return fs.statSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? 0n;
  } catch {
    return 0n;
  }
}
