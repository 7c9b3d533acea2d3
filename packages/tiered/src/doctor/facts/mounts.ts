import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** Where a file system is mounted, and how. */
export interface Mount {
  readonly point: string;
  /** As the kernel calls it, such as `ext4` or `fuse.sshfs`. */
  readonly type: string;
  /** Without those that name hosts, users or addresses. */
  readonly options: readonly string[];
}

/** Options that say nothing of who and where. */
const PLAIN =
  /^(ro|rw|sync|noexec|nosuid|nodev|noatime|relatime|lazytime|soft|hard|discard|nobarrier|(vers|proto|rsize|wsize|timeo|retrans|size|nr_inodes|acregmax|nconnect)=[\w.]+)$/;

/** The mount that a path is in. Undefined where the system does not tell (Linux does). */
export async function mountOf(directory: string): Promise<Mount | undefined> {
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  return table
    .split('\n')
    .flatMap((line) => mountIn(line) ?? [])
    .filter(({ point }) => isWithin(directory, point))
    .reduce<Mount | undefined>(
      (best, mount) => (best !== undefined && best.point.length > mount.point.length ? best : mount),
      undefined,
    );
}

/** Parses a line: `36 35 98:0 /root /point options optional - type device options` (`man 5 proc`). */
function mountIn(line: string): Mount | undefined {
  const [before = '', after = ''] = line.split(' - ', 2);
  const [, , , , point, options = ''] = before.split(' ');
  const [type, , more = ''] = after.split(' ');
  if (point === undefined || type === undefined || type === '') return undefined;
  const all = [...new Set([...options.split(','), ...more.split(',')])];
  return { point: unescaped(point), type, options: all.filter((option) => PLAIN.test(option)) };
}

/** Blanks and the like are written as octal numbers. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}

function isWithin(directory: string, point: string): boolean {
  return directory === point || directory.startsWith(point.endsWith(path.sep) ? point : point + path.sep);
}
