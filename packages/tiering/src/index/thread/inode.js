// @ts-check
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

/**
 * The name of the file that says which index was found damaged.
 * @param {string} path
 */
export function markOf(path) {
  return `${path}-damaged`;
}

/**
 * Whether the file of this inode was found damaged. Marks of other files than the one that is there now say
 * nothing of it.
 * @param {string} path
 * @param {bigint} inode
 */
export function isMarked(path, inode) {
  try {
    return fs.readFileSync(markOf(path), 'utf8') === String(inode);
  } catch {
    return false;
  }
}
