// @ts-check
import fs from 'node:fs';
import path from 'node:path';

/**
 * The calls that read a file, for the driver and for its reader threads. JavaScript, because a thread starts
 * from this file as it is, whether the driver was built or not.
 */

const { O_RDONLY, O_NONBLOCK = 0, O_NOCTTY = 0 } = fs.constants;

/** Opening must neither follow into waiting for a FIFO's writer nor take a terminal over. */
export const OPEN_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY;

/** `read(2)` takes 2 GiB at most; a round number below that. */
export const MOST_AT_ONCE = 2 ** 30;

/**
 * Fills the target from a position, blocking; returns the bytes read, fewer only at the end of the file. The
 * size, if it is known, saves the read that finds the end; `Infinity` if it is not.
 *
 * @param {{ readonly fd: number; readonly size: number }} file
 * @param {Uint8Array} target
 * @param {number} position
 * @returns {number}
 */
export function readFullyBlocking({ fd, size }, target, position) {
  let filled = 0;
  while (filled < target.byteLength) {
    const length = Math.min(MOST_AT_ONCE, target.byteLength - filled);
    const count = fs.readSync(fd, target, filled, length, position + filled);
    filled += count;
    // A read that ends where the file ends needs no second one to learn that.
    if (count === 0 || position + filled >= size) break;
  }
  return filled;
}

/**
 * The identity of a file's content: changes with its size, its time of modification, and its inode.
 *
 * @param {Pick<fs.BigIntStats, 'mtimeNs' | 'size' | 'ino'>} stat
 * @returns {string}
 */
export function versionOf({ mtimeNs, size, ino }) {
  return `${mtimeNs.toString(36)}-${size.toString(36)}-${ino.toString(36)}`;
}

const VERSION = /^-?[\da-z]+-([\da-z]+)-[\da-z]+$/;

/**
 * The size of a file of this version, without asking for it; `Infinity` for what is no version of a file.
 *
 * @param {string | undefined} version
 * @returns {number}
 */
export function sizeIn(version) {
  const size = VERSION.exec(version ?? '')?.[1];
  return size === undefined ? Infinity : Number.parseInt(size, 36);
}

/**
 * Whether a real path is the root or below it.
 *
 * @param {string} root
 * @param {string} realPath
 * @returns {boolean}
 */
export function isInside(root, realPath) {
  return realPath === root || realPath.startsWith(root.endsWith(path.sep) ? root : root + path.sep);
}
