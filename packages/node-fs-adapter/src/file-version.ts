import type fs from 'node:fs';
import type { ObjectStat } from '@tiered/core';

/** The properties of a file that a read checks. */
export type FileLook = Pick<fs.BigIntStats, 'isFile' | 'mtimeNs' | 'size' | 'ino' | 'nlink'>;

type Identity = Pick<FileLook, 'mtimeNs' | 'size' | 'ino'>;

/**
 * Returns the identity of a file's content. It changes with the size, the modification time and the inode.
 */
export function versionOf({ mtimeNs, size, ino }: Identity): string {
  return `${mtimeNs.toString(36)}-${size.toString(36)}-${ino.toString(36)}`;
}

const VERSION = /^-?[\da-z]+-([\da-z]+)-[\da-z]+$/;

/** Returns the size in a version, without asking the storage. `Infinity` for texts of another form. */
export function sizeIn(version: string | undefined): number {
  const size = VERSION.exec(version ?? '')?.[1];
  return size === undefined ? Infinity : Number.parseInt(size, 36);
}

/** Describes a file by its size and its identity, to the nanosecond and the inode. */
export function describe(key: string, stat: Identity): ObjectStat {
  return { key, size: Number(stat.size), version: versionOf(stat) };
}

/** Whether two files have the same version, without building the strings of `versionOf`. */
export function isSame(one: Identity, other: Identity): boolean {
  return one.mtimeNs === other.mtimeNs && one.size === other.size && one.ino === other.ino;
}
