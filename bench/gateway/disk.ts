import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';

const BLOCK = 512;

/** What a directory takes of its disk, in bytes. Files that vanish meanwhile do not count. */
export async function bytesOnDisk(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true }).catch(() => []);
  const sizes = entries.map((entry) =>
    lstat(path.join(directory, entry)).then(
      ({ blocks }) => blocks * BLOCK,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0);
}
