import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** A mount, as the kernel lists it. */
export interface Mount {
  /** Its number, which no other mount has while it lasts. */
  readonly id: string;
  /** `major:minor`, which changes with every mount of many file systems. */
  readonly device: string;
  /** Which directory of its file system is mounted. */
  readonly root: string;
  /** Where it is mounted. */
  readonly at: string;
  /** As the kernel calls it, such as `ext4` or `fuse.sshfs`. */
  readonly type: string;
  /** What is mounted: a device, or what a server exports. */
  readonly source: string;
  /** Those of the mount, and those of the file system. */
  readonly options: readonly string[];
}

/** What the kernel says of the mounts that this process sees; empty on systems other than Linux. */
export async function mountinfo(): Promise<string> {
  return process.platform === 'linux' ? readFile('/proc/self/mountinfo', 'utf8') : '';
}

/** The mounts, in the order in which they were made. */
export function mountsOf(text: string): Mount[] {
  const mounts: Mount[] = [];
  for (const line of text.split('\n')) {
    // `36 35 98:0 /root /point options, optional fields - type source options`: `man 5 proc_pid_mountinfo`.
    const [id, , device, root, at, own = '', ...rest] = line.split(' ').map(unescaped);
    const [type, source = '', all = ''] = rest.slice(rest.indexOf('-') + 1);
    if (id === undefined || device === undefined || root === undefined) continue;
    if (at === undefined || type === undefined) continue;
    mounts.push({ id, device, root, at, type, source, options: [...own.split(','), ...all.split(',')] });
  }
  return mounts;
}

/** The mount that a directory is in, by its real path: the last one of those whose place is nearest. */
export function nearestMount(directory: string, mounts: readonly Mount[]): Mount | undefined {
  let found: Mount | undefined;
  for (const mount of mounts)
    if (isBelow(mount.at, directory) && mount.at.length >= (found?.at.length ?? 0)) found = mount;
  return found;
}

/** Whether a path is another one, or below it. */
export function isBelow(outer: string, inner: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith(path.sep) ? outer : outer + path.sep);
}

/** Blanks and the like are written as octal numbers. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}
