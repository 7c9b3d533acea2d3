import type fs from 'node:fs';
import type { ObjectStat } from '@tiered/core';
import type { FileLook } from '../read/file-reads.js';
import { versionOf } from '../read/thread/file-calls.js';

/** Describes a file by its size and its identity, to the nanosecond and the inode. */
export function describe(key: string, stat: fs.BigIntStats): ObjectStat {
  return { key, size: Number(stat.size), version: versionOf(stat) };
}

/** Whether two looks at files found the same version, without the strings of `versionOf`. */
export function isSame(one: FileLook, other: FileLook): boolean {
  return one.mtimeNs === other.mtimeNs && one.size === other.size && one.ino === other.ino;
}
