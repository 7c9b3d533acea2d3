// @ts-check
import fs from 'node:fs';
import { isInside } from './file-calls.js';
import { KnownInodes } from './known-inodes.js';

/**
 * File systems that have at hand what an open file is: ext4, XFS, btrfs, tmpfs, ZFS and F2FS. On others, NFS,
 * Lustre and FUSE among them, each look at a file may be a request.
 */
const AT_HAND = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x2fc12fc1, 0xf2f52010]);

/**
 * How a thread finds out that an open descriptor is of a file inside the root, before anything is read: by
 * asking the kernel where it is, or, where a look at the file is cheaper than that, by what is known of its
 * inode.
 *
 * @param {string} root A real path.
 * @returns {(fd: number) => boolean} Throws errors of the system where the kernel does not say.
 */
export function insideOf(root) {
  if (!AT_HAND.has(fs.statfsSync(root).type))
    return (fd) => isInside(root, fs.readlinkSync(`/proc/self/fd/${fd}`));
  const inodes = new KnownInodes(root);
  return (fd) => {
    const stat = fs.fstatSync(fd);
    return stat.isFile() && inodes.has(fd, stat);
  };
}
