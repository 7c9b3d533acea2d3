import { mountinfo, mountsOf, nearestMount } from '@tiered/core/internal';

/** What kind of storage a file system is, as far as a tier is concerned. */
type FileSystemKind = 'local' | 'memory' | 'network' | 'fuse' | 'overlay' | 'unknown';

/** A file system, by what `statfs` says. */
export interface FileSystem {
  readonly kind: FileSystemKind;
  /** Such as `ext4`; its number where it has no name here. */
  readonly name: string;
}

/** The numbers that Linux gives to file systems (`man 2 statfs`, linux/magic.h). */
const KNOWN = new Map<number, FileSystem>([
  ...named('local', {
    ext4: 0xef53,
    xfs: 0x58465342,
    btrfs: 0x9123683e,
    zfs: 0x2fc12fc1,
    f2fs: 0xf2f52010,
    bcachefs: 0xca451a4e,
    ntfs: 0x7366746e,
    exfat: 0x2011bab0,
  }),
  ...named('memory', { tmpfs: 0x01021994, ramfs: 0x858458f6 }),
  ...named('network', {
    nfs: 0x6969,
    smb: 0x517b,
    cifs: 0xff534d42,
    smb2: 0xfe534d42,
    ceph: 0x00c36400,
    lustre: 0x0bd00bd0,
    gpfs: 0x47504653,
    beegfs: 0x19830326,
    afs: 0x5346414f,
    '9p': 0x01021997,
  }),
  ...named('fuse', { fuse: 0x65735546 }),
  ...named('overlay', { overlay: 0x794c7630 }),
]);

function named(
  kind: FileSystemKind,
  numbers: Readonly<Record<string, number>>,
): (readonly [number, FileSystem])[] {
  return Object.entries(numbers).map(([name, number]) => [number, { kind, name }]);
}

/** @param type The `type` of `fs.statfs`. Other systems than Linux have numbers of their own. */
export function fileSystemOf(type: number, platform: NodeJS.Platform): FileSystem {
  const unsigned = type >>> 0;
  const known = platform === 'linux' ? KNOWN.get(unsigned) : undefined;
  return known ?? { kind: 'unknown', name: `file system 0x${unsigned.toString(16)}` };
}

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
  const mount = nearestMount(directory, mountsOf(await mountinfo().catch(() => '')));
  if (mount === undefined) return undefined;
  const { at, type, options } = mount;
  return { point: at, type, options: [...new Set(options)].filter((option) => PLAIN.test(option)) };
}
