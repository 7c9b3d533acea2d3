import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** A mount, as the kernel lists it. */
export interface Mount {
  /** Its number, unique among existing mounts. */
  readonly id: string;
  /** `major:minor`, which changes with every mount of many file systems. */
  readonly device: string;
  /** The directory of its file system that is mounted. */
  readonly root: string;
  /** Its mount point. */
  readonly at: string;
  /** The kernel's name for it, such as `ext4` or `fuse.sshfs`. */
  readonly type: string;
  /** The mounted device, or the export of a server. */
  readonly source: string;
  /** Options of the mount and of the file system. */
  readonly options: readonly string[];
}

/** Returns the kernel's list of the mounts that this process sees; empty on systems other than Linux. */
export async function mountinfo(): Promise<string> {
  return process.platform === 'linux' ? readFile('/proc/self/mountinfo', 'utf8') : '';
}

/** Parses the mounts, in the order in which they were made. */
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

/** The mount that contains a directory, by its real path: the last one with the nearest mount point. */
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

/** Decodes blanks and other characters that are written as octal numbers. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}
