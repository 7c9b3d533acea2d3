import { mountinfo, mountsOf, nearestMount, printable } from '@tiered/core/internal';
import { realpath } from 'node:fs/promises';

const FILE = 'file://';
/** What is mounted, where a server gives it: `server:/export`, `//server/share`, `user@id.fs=/`. */
const SERVED = /^[^/\s]+[:=]\/|^\/\/[^/]/;
/** A name in a record has at most so many characters. */
const LONGEST = 256;

/**
 * What a source is called by default. Jobs share what is behind a mount, or a bucket, and not a dataset:
 * - of a directory, what a server gives to its mount, else the mount point, as `file:///mnt/data`;
 * - on systems other than Linux, the directory;
 * - of a bucket, its address, with the endpoint if it is none of AWS.
 * @param storage Where the storage is, as `LoadedConfig.storage`.
 */
export async function sourceNameOf(storage: string, mounts = mountinfo): Promise<string> {
  const name = storage.startsWith(FILE) ? await mountOf(storage.slice(FILE.length), mounts) : undefined;
  const plain = name ?? storage.replace(/(?<=[^/])\/$/, '');
  return printable(plain, LONGEST);
}

async function mountOf(directory: string, mounts: typeof mountinfo): Promise<string | undefined> {
  // The mount may come only with this: some are made when their path is looked up.
  const real = await realpath(directory).catch(() => directory.replace(/(?<=.)\/$/, ''));
  const mount = nearestMount(real, mountsOf(await mounts().catch(() => '')));
  if (mount === undefined) return undefined;
  return SERVED.test(mount.source) ? mount.source : `${FILE}${mount.at}`;
}
