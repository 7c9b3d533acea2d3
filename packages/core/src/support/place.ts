import { open, readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { existingAt } from './existing-at.js';

/** A directory that the kernel finds at a path, and on a device. */
interface Mounted {
  readonly real: string;
  readonly device: string;
  readonly at: string;
}

/** Where a directory is, however it is reached. */
export interface Place {
  /** The real path of what exists of it. */
  readonly real: string;
  /** What does not exist of it yet; empty if all does. */
  readonly rest: string;
  /**
   * Where the kernel has what exists, and then what is mounted below. Empty where it does not say; Linux
   * does.
   */
  readonly mounted: readonly Mounted[];
}

/**
 * Finds a directory, or where it would be made, and changes nothing.
 * @throws errors of the system, such as `EACCES`.
 */
export async function placeOf(where: string): Promise<Place> {
  const existing = await existingAt(where);
  const real = await realpath(existing);
  return { real, rest: path.relative(existing, where), mounted: await mountedAt(real).catch(() => []) };
}

/** Whether a directory is another one or inside it, through links and bind mounts too. */
export async function isWithin(inner: Place, outer: Place): Promise<boolean> {
  if (isBelow(path.join(inner.real, inner.rest), path.join(outer.real, outer.rest))) return true;
  const [one] = inner.mounted;
  if (one === undefined) return false;
  for (const other of outer.mounted) {
    if (one.device !== other.device) continue;
    if (!isBelow(path.join(one.at, inner.rest), path.join(other.at, outer.rest))) continue;
    if (await areOne(one, other)) return true;
  }
  return false;
}

/**
 * Whether one leads to the other, as the kernel says. Its word is not enough: NFS calls the root of each
 * mount `/`, whichever directory it is of. And a mount may be covered by another one.
 */
function areOne(one: Mounted, other: Mounted): Promise<boolean> {
  const [shallow, deep] = one.at.length >= other.at.length ? [other, one] : [one, other];
  return isSame(path.join(shallow.real, path.relative(shallow.at, deep.at)), deep.real);
}

function isBelow(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith(path.sep) ? outer : outer + path.sep);
}

async function isSame(one: string, other: string): Promise<boolean> {
  try {
    const [first, second] = await Promise.all([stat(one, { bigint: true }), stat(other, { bigint: true })]);
    return first.dev === second.dev && first.ino === second.ino;
  } catch {
    return false;
  }
}

/** The mount that a directory is on is found by its number, as mounts may cover one another. */
async function mountedAt(real: string): Promise<Mounted[]> {
  if (process.platform !== 'linux') return [];
  const handle = await open(real, 'r');
  const about = await readFile(`/proc/self/fdinfo/${handle.fd}`, 'utf8').finally(() => handle.close());
  const id = /^mnt_id:\s*(\d+)$/m.exec(about)?.[1];
  const found: Mounted[] = [];
  for (const line of (await readFile('/proc/self/mountinfo', 'utf8')).split('\n')) {
    // `36 35 98:0 /root /point options ...`, see `man 5 proc_pid_mountinfo`.
    const [mount, , device = '', ...paths] = line.split(' ');
    const [root = '', point = ''] = paths.map(unescaped);
    if (mount === id) found.unshift({ real, device, at: path.join(root, path.relative(point, real)) });
    else if (point !== real && isBelow(point, real)) found.push({ real: point, device, at: root });
  }
  return found[0]?.real === real ? found : [];
}

/** Blanks and the like are written as octal numbers, byte by byte. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}
