import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';

/** Everything in a directory: names, kinds, sizes, and when each was changed. */
export async function snapshotOf(directory: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true });
  const entries = ['', ...names].map(async (name) => {
    const { mode, size, mtimeMs, ctimeMs, ino } = await lstat(path.join(directory, name));
    return [name, mode, size, mtimeMs, ctimeMs, ino].join(' ');
  });
  return (await Promise.all(entries)).sort();
}
