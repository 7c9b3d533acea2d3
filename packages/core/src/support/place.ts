import { open, readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { isBelow, mountinfo, mountsOf } from './mounts.js';

/**
 * Returns the path, or its nearest existing ancestor: the place where a missing directory would be created.
 * @throws errors of the system, such as `EACCES`.
 */
export async function existingAt(where: string): Promise<string> {
  try {
    await stat(where);
    return where;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const above = path.dirname(where);
    if (!['ENOENT', 'ENOTDIR'].includes(code) || above === where) throw error;
    return existingAt(above);
  }
}

/** A directory at a path and on a device, as the kernel reports it. */
interface Mounted {
  readonly real: string;
  readonly device: string;
  readonly at: string;
}

/** The place of a directory, whichever path leads there. */
export interface Place {
  /** The real path of its existing part. */
  readonly real: string;
  /** The part that does not exist yet; empty if all of it exists. */
  readonly rest: string;
  /**
   * The kernel's location of the existing part, followed by the mounts below it. Empty if the kernel does not
   * report them; Linux does.
   */
  readonly mounted: readonly Mounted[];
}

/**
 * Finds a directory, or the place where it would be created, and changes nothing.
 * @throws errors of the system, such as `EACCES`.
 */
export async function placeOf(where: string): Promise<Place> {
  const existing = await existingAt(where);
  const real = await realpath(existing);
  return { real, rest: path.relative(existing, where), mounted: await mountedAt(real).catch(() => []) };
}

/** Whether a directory is the same as another one or inside it, through links and bind mounts too. */
export async function isWithin(inner: Place, outer: Place): Promise<boolean> {
  if (isBelow(path.join(outer.real, outer.rest), path.join(inner.real, inner.rest))) return true;
  const [one] = inner.mounted;
  if (one === undefined) return false;
  for (const other of outer.mounted) {
    if (one.device !== other.device) continue;
    if (!isBelow(path.join(other.at, outer.rest), path.join(one.at, inner.rest))) continue;
    if (await areOne(one, other)) return true;
  }
  return false;
}

/**
 * Whether one leads to the other. The kernel's report is not enough: NFS calls the root of each mount `/`,
 * whichever directory it is. And a mount may be covered by another one.
 */
function areOne(one: Mounted, other: Mounted): Promise<boolean> {
  const [shallow, deep] = one.at.length >= other.at.length ? [other, one] : [one, other];
  return isSame(path.join(shallow.real, path.relative(shallow.at, deep.at)), deep.real);
}

async function isSame(one: string, other: string): Promise<boolean> {
  try {
    const [first, second] = await Promise.all([stat(one, { bigint: true }), stat(other, { bigint: true })]);
    return first.dev === second.dev && first.ino === second.ino;
  } catch {
    return false;
  }
}

/** Finds the mount of a directory by its number, because mounts may cover one another. */
async function mountedAt(real: string): Promise<Mounted[]> {
  const mounts = mountsOf(await mountinfo());
  if (mounts.length === 0) return [];
  const handle = await open(real, 'r');
  const about = await readFile(`/proc/self/fdinfo/${handle.fd}`, 'utf8').finally(() => handle.close());
  const own = /^mnt_id:\s*(\d+)$/m.exec(about)?.[1];
  const found: Mounted[] = [];
  for (const { id, device, root, at } of mounts) {
    if (id === own) found.unshift({ real, device, at: path.join(root, path.relative(at, real)) });
    else if (at !== real && isBelow(real, at)) found.push({ real: at, device, at: root });
  }
  return found[0]?.real === real ? found : [];
}
