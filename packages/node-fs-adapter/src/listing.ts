import fs from 'node:fs';
import path from 'node:path';
import type { ObjectStat } from '@tiered/core';
import { hasErrno } from './errors.js';
import { isInside, PRIVATE_DIRECTORY, problemOf } from './keys.js';

/** Objects a page: enough to amortise the hand-over, few enough to keep the event loop free. */
const PAGE = 1000;

/**
 * The regular files below a root, in pages. Links to files inside the root are objects too; links to directories are
 * not followed, and what is neither file nor directory is left out. A file that vanishes meanwhile is left out.
 */
export async function* walk(
  root: string,
  prefix: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly ObjectStat[], void, undefined> {
  // A root that is gone is an error, and not an empty listing.
  await (await fs.promises.opendir(root)).close();
  // Only directories that can hold the prefix are walked.
  const start = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  if (start !== '' && !(await isDirectoryWithoutLinks(root, start.slice(0, -1)))) return;
  const directories = [start];
  let page: string[] = [];
  for (let directory = directories.pop(); directory !== undefined; directory = directories.pop()) {
    for await (const entry of entriesOf(path.join(root, directory))) {
      signal?.throwIfAborted();
      const key = directory + entry.name;
      if (key === PRIVATE_DIRECTORY) continue;
      if (entry.isDirectory()) {
        const below = `${key}/`;
        if (below.startsWith(prefix) || prefix.startsWith(below)) directories.push(below);
      } else if (key.startsWith(prefix) && (entry.isFile() || entry.isSymbolicLink())) {
        page.push(key);
        if (page.length < PAGE) continue;
        yield await describeAll(root, page);
        page = [];
      }
    }
  }
  if (page.length > 0) yield await describeAll(root, page);
}

/** Size and identity of a file, to the nanosecond and the inode. */
export function describe(key: string, stat: fs.BigIntStats): ObjectStat {
  return { key, size: Number(stat.size), version: versionOf(stat) };
}

/** The identity of a file's content: changes with its size, its time of modification, and its inode. */
export function versionOf({ mtimeNs, size, ino }: fs.BigIntStats): string {
  return `${mtimeNs.toString(36)}-${size.toString(36)}-${ino.toString(36)}`;
}

/** Whether keys below this one are those of a directory that a walk from the root would enter. */
async function isDirectoryWithoutLinks(root: string, key: string): Promise<boolean> {
  if (problemOf(key) !== undefined) return false;
  const directory = path.join(root, key);
  const realPath = await fs.promises.realpath(directory).catch((error: unknown) => {
    if (!hasErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG')) throw error;
  });
  return realPath === directory;
}

async function* entriesOf(directory: string): AsyncGenerator<fs.Dirent, void, undefined> {
  try {
    // Entries are read by the hundred: a call for each would be a trip through the thread pool for each.
    yield* await fs.promises.opendir(directory, { bufferSize: 256 });
  } catch (error) {
    if (!hasErrno(error, 'ENOENT', 'ENOTDIR')) throw error;
  }
}

async function describeAll(root: string, keys: readonly string[]): Promise<readonly ObjectStat[]> {
  const stats = await Promise.all(keys.map((key) => describeFile(root, key)));
  return stats.filter((stat) => stat !== undefined);
}

async function describeFile(root: string, key: string): Promise<ObjectStat | undefined> {
  const filePath = path.join(root, key);
  try {
    const stat = await fs.promises.lstat(filePath, { bigint: true });
    if (stat.isFile()) return describe(key, stat);
    const target = await fs.promises.realpath(filePath);
    if (!isInside(root, target)) return undefined;
    const targetStat = await fs.promises.stat(target, { bigint: true });
    return targetStat.isFile() ? describe(key, targetStat) : undefined;
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'ELOOP', 'ENOTDIR')) return undefined;
    throw error;
  }
}
