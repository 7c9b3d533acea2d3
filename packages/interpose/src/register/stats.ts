import type { BigIntStats, Stats } from 'node:fs';
import type { TableEntry } from './table-view.js';

/** In nanoseconds. */
const SECOND = 1_000_000_000n;

type SourceFile = NonNullable<TableEntry['file']>;

/**
 * Makes what is said of a copy what is said of the file that it is a copy of. What is not known of that
 * is the same for as long as the copy is open: there is one name, and all times are that of the last change.
 */
export function describe<T extends Stats | BigIntStats>(stats: T, file: SourceFile): T {
  setAll(stats, {
    ino: file.inode,
    dev: deviceOf(file.device),
    mode: file.mode,
    uid: file.user,
    gid: file.group,
    nlink: 1,
  });
  for (const time of ['atime', 'mtime', 'ctime', 'birthtime']) setTime(stats, time, file.modified);
  return stats;
}

/** Numbers, in the kind that the answer has. */
export function setAll(stats: Stats | BigIntStats, values: Record<string, number | bigint>): void {
  const isBig = typeof stats.size === 'bigint';
  for (const [name, value] of Object.entries(values))
    Object.assign(stats, { [name]: isBig ? BigInt(value) : Number(value) });
}

/** @param nanoseconds Since 1970. */
function setTime(stats: Stats | BigIntStats, name: string, nanoseconds: bigint): void {
  const isBig = typeof stats.size === 'bigint';
  const milliseconds = isBig ? nanoseconds / 1_000_000n : millisecondsOf(nanoseconds);
  Object.assign(stats, { [`${name}Ms`]: milliseconds, ...(isBig && { [`${name}Ns`]: nanoseconds }) });
  // Some versions of Node compute it when it is asked for, and some before.
  Object.defineProperty(stats, name, {
    value: new Date(Math.round(Number(milliseconds))),
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

/** As Node makes them of nanoseconds, to the last digit. */
function millisecondsOf(nanoseconds: bigint): number {
  const rest = ((nanoseconds % SECOND) + SECOND) % SECOND;
  return Number((nanoseconds - rest) / SECOND) * 1000 + Number(rest) / 1e6;
}

/** As glibc makes it of a major and a minor number. */
function deviceOf(packed: number): bigint {
  const [major, minor] = [BigInt(packed >>> 20), BigInt(packed & 0xfffff)];
  return (minor & 0xffn) | ((major & 0xfffn) << 8n) | ((minor & ~0xffn) << 12n);
}
