import type { BigIntStats, Stats } from 'node:fs';
import type { TableEntry } from './table-view.js';
import { real } from './real-fs.js';
import type { Redirected } from './redirection.js';

/** In nanoseconds. */
const SECOND = 1_000_000_000n;

type SourceFile = NonNullable<TableEntry['file']>;

/** What a descriptor was opened for. */
interface Known {
  readonly redirected: Redirected;
  readonly inode: bigint;
  readonly device: bigint;
  readonly born: bigint;
}

/**
 * Knows which descriptors are of copies, so that `fstat` can say what is so of the source's file: libraries
 * compare that with what its path says.
 *
 * Descriptors are closed in ways that are not seen here, and their numbers used again. So what is known of
 * one counts only as long as it is of the same file.
 */
export class Descriptors {
  /** By number: as many as were open at the same time. */
  readonly #known = new Map<number, Known>();

  /** A descriptor is of a copy. */
  note(fd: number, redirected: Redirected): void {
    const { ino, dev, birthtimeNs } = real.fstatSync(fd, { bigint: true });
    this.#known.set(fd, { redirected, inode: ino, device: dev, born: birthtimeNs });
  }

  /** A descriptor is of something else. */
  forget(fd: number): void {
    this.#known.delete(fd);
  }

  /**
   * What is said of a descriptor: of the source's file, if it is one of a copy, and else what was found.
   * @param askSource Says what the source does, where the table does not know enough.
   */
  told<T extends Stats | BigIntStats, R>(
    fd: number,
    found: T,
    askSource: (path: string, isRight: (stats: Stats | BigIntStats) => boolean) => R,
  ): T | R {
    const known = this.#known.get(fd);
    if (known === undefined) return found;
    const { ino, dev, birthtimeNs } = real.fstatSync(fd, { bigint: true });
    if (ino !== known.inode || dev !== known.device || birthtimeNs !== known.born) {
      this.#known.delete(fd);
      return found;
    }
    const { source, entry } = known.redirected;
    // Else it is a copy of an older version.
    if (BigInt(entry.bytes) !== BigInt(found.size)) return found;
    // Elsewhere devices have other numbers.
    if (entry.file === undefined || process.platform !== 'linux')
      return askSource(source, ({ size }) => BigInt(size) === BigInt(found.size));
    return describe(found, entry.file);
  }
}

/** Makes the answer about a copy one about the source's file. */
function describe<T extends Stats | BigIntStats>(stats: T, file: SourceFile): T {
  const isBig = typeof stats.size === 'bigint';
  const number = (value: number | bigint) => (isBig ? BigInt(value) : Number(value));
  const milliseconds = isBig ? file.modified / 1_000_000n : millisecondsOf(file.modified);
  Object.assign(stats, {
    ino: number(file.inode),
    dev: number(deviceOf(file.device)),
    mode: number(file.mode),
    uid: number(file.user),
    gid: number(file.group),
    mtimeMs: milliseconds,
    ...(isBig && { mtimeNs: file.modified }),
  });
  // Some versions of Node compute it when it is asked for, and some before.
  const mtime = new Date(Math.round(Number(milliseconds)));
  Object.defineProperty(stats, 'mtime', {
    value: mtime,
    enumerable: true,
    writable: true,
    configurable: true,
  });
  return stats;
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
