import fs from 'node:fs';
import path from 'node:path';
import type { ObjectStat } from '@tiered/core';
import { hasErrno } from '../errors.js';
import type { FileLook } from '../read/file-reads.js';
import { problemOf } from '../root/keys.js';
import { isInside, versionOf } from '../read/thread/file-calls.js';

/** Describes a file by its size and its identity, to the nanosecond and the inode. */
export function describe(key: string, stat: fs.BigIntStats): ObjectStat {
  return { key, size: Number(stat.size), version: versionOf(stat) };
}

/** Whether two looks at files found the same version, without the strings of `versionOf`. */
export function isSame(one: FileLook, other: FileLook): boolean {
  return one.mtimeNs === other.mtimeNs && one.size === other.size && one.ino === other.ino;
}

/** Describes the object behind a link: the file that it leads to, if that is inside the root. */
export async function describeLink(
  root: string,
  key: string,
  filePath: string,
): Promise<ObjectStat | undefined> {
  try {
    const target = await fs.promises.realpath(filePath);
    if (!isInside(root, target)) return undefined;
    const stat = await fs.promises.stat(target, { bigint: true });
    return stat.isFile() ? describe(key, stat) : undefined;
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'ELOOP', 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** Whether keys below this one are those of a directory that a walk from the root would enter. */
export async function isDirectoryWithoutLinks(root: string, key: string): Promise<boolean> {
  if (problemOf(key) !== undefined) return false;
  const directory = path.join(root, key);
  const realPath = await fs.promises.realpath(directory).catch((error: unknown) => {
    if (!hasErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG')) throw error;
  });
  return realPath === directory;
}
