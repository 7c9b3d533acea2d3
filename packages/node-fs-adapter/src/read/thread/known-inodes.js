// @ts-check
import fs from 'node:fs';
import { isInside } from './file-calls.js';

/** Inodes that are remembered: 4 MiB. Two that share a slot cost a question each. */
const SLOTS = 2 ** 18;

/**
 * For so long an inode is not remembered after its last change, in milliseconds: within the resolution of
 * such times a file that gets the number of a deleted one could have its time too. Longer than that, for
 * clocks of other hosts.
 */
const SETTLED_AFTER_MS = 2000;

/**
 * Which files are inside the root. The kernel says where an open file is, which costs more than to open it;
 * so the answer is kept, not under a path, which anybody may lead elsewhere, but for the inode itself, as
 * long as it is as it was then: another file that got its number has another time of change, which no program
 * can set.
 */
export class KnownInodes {
  #root;
  #device;
  #inodes = new Float64Array(SLOTS);
  #changed = new Float64Array(SLOTS);

  /** @param {string} root A real path. */
  constructor(root) {
    this.#root = root;
    this.#device = fs.statSync(root).dev;
  }

  /**
   * Whether the file behind a descriptor is inside the root.
   *
   * @param {number} fd
   * @param {Pick<fs.Stats, 'dev' | 'ino' | 'ctimeMs'>} stat Of this descriptor.
   * @returns {boolean}
   * @throws errors of the system where the kernel does not say.
   */
  has(fd, { dev, ino, ctimeMs }) {
    const slot = ino % SLOTS;
    if (this.#inodes[slot] === ino && this.#changed[slot] === ctimeMs && dev === this.#device) return true;
    if (!isInside(this.#root, fs.readlinkSync(`/proc/self/fd/${fd}`))) return false;
    // A number that was rounded could be that of several inodes.
    if (dev === this.#device && Number.isSafeInteger(ino) && Date.now() - ctimeMs > SETTLED_AFTER_MS) {
      this.#inodes[slot] = ino;
      this.#changed[slot] = ctimeMs;
    }
    return true;
  }
}
