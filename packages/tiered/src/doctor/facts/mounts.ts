import { mountinfo, mountsOf, nearestMount } from '@tiered/core/internal';

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
