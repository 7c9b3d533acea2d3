import { mountinfo, mountsOf, nearestMount, type Mount } from '@tiered/core/internal';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/** File systems of servers. Their mount source names the data wherever it is mounted. */
const REMOTE = /^(?:nfs4?|cifs|smb3|lustre|ceph|glusterfs|beegfs|gpfs|9p|virtiofs|afs|fuse\..+)$/;
/** File systems that are built once and never change. They have no birth times, and often no other times. */
const IMAGES = /^(?:squashfs|erofs|iso9660|cramfs|romfs|fuse\.squashfuse(?:_ll)?)$/;
/** File systems on disks. The birth time of their root is when they were made. */
const DISKS = /^(?:ext[234]|xfs|btrfs|f2fs|zfs|bcachefs)$/;

/**
 * Tells the file system below a directory from another one at the same path, and stays the same when that
 * file system is mounted again. It is a short text that begins with its kind. Device numbers do not stay the
 * same, and versions of files are equal in images that were made alike.
 * - For a server: the export, by the name that it was mounted by.
 * - For an image: the file that contains it, with its size and time; without a loop device, the device and
 *   the numbers of blocks and files.
 * - For a disk: when its root was made, and the file that contains it if there is one.
 * @param directory A real path.
 * @param mounts The kernel's list of mounts.
 * @returns undefined where none of that is known, as for overlays, memory, and systems other than Linux.
 */
export async function fileSystemOf(
  directory: string,
  mounts: Promise<string> = mountinfo().catch(() => ''),
): Promise<string | undefined> {
  const mount = nearestMount(directory, mountsOf(await mounts));
  const facts = mount && (await factsOf(mount));
  if (facts === undefined) return undefined;
  const [kind] = facts;
  return `${kind}-${createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 16)}`;
}

async function factsOf({ device, root, at, type, source }: Mount): Promise<readonly string[] | undefined> {
  if (IMAGES.test(type)) {
    const file = await backingFile(device);
    const { blocks, files, bsize } = await fs.promises.statfs(at);
    return [
      'image',
      type,
      file === undefined ? source : await described(file),
      `${bsize} ${blocks} ${files}`,
    ];
  }
  if (REMOTE.test(type)) return ['remote', source, root];
  if (!DISKS.test(type)) return undefined;
  const file = await backingFile(device);
  const { birthtimeNs } = await fs.promises.stat(at, { bigint: true });
  if (file === undefined && birthtimeNs === 0n) return undefined;
  return ['disk', type, file ?? '', String(birthtimeNs)];
}

/** The file of a loop device. Undefined if the device is none. */
async function backingFile(device: string): Promise<string | undefined> {
  const named = await fs.promises
    .readFile(path.join('/sys/dev/block', device, 'loop/backing_file'), 'utf8')
    .catch(() => undefined);
  return named?.replace(/\n$/, '');
}

/** A file with its size and time, if it is visible from here. */
async function described(file: string): Promise<string> {
  const stat = await fs.promises.stat(file, { bigint: true }).catch(() => undefined);
  return `${file} ${stat?.size} ${stat?.mtimeNs}`;
}
