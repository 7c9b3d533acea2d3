const BLOCK = 4096;
/** What a tier on a disk keeps free: a share of its quota, and some room for its index. */
const KEPT_FREE = 1 / 32;
const INDEX_BYTES = 1024 * 1024;

/**
 * The quota with which a disk holds so many bytes in so many files: files take whole blocks there, and the
 * index takes some room.
 */
export function quotaOnDisk(bytes: number, files: number): number {
  return Math.ceil((bytes + files * BLOCK) * (1 + KEPT_FREE)) + INDEX_BYTES;
}
