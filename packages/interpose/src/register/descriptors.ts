import type { BigIntStats, Stats } from 'node:fs';
import { real } from './real-fs.js';
import type { Found } from './session-view.js';
import { describe } from './stats.js';

/** What a descriptor was opened for. */
interface Known {
  readonly copyOf: Found;
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

  /** @param copyOf What a descriptor is a copy of; undefined if of nothing. */
  note(fd: number, copyOf: Found | undefined): void {
    if (copyOf === undefined) this.#known.delete(fd);
    else {
      const { ino, dev, birthtimeNs } = real.fstatSync(fd, { bigint: true });
      this.#known.set(fd, { copyOf, inode: ino, device: dev, born: birthtimeNs });
    }
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
    const { source, entry, isImagined } = known.copyOf;
    // Else it is a copy of an older version.
    if (BigInt(entry.bytes) !== BigInt(found.size)) return found;
    // Devices have other numbers elsewhere than on Linux.
    if (entry.file === undefined || !(isImagined || process.platform === 'linux'))
      return askSource(source, ({ size }) => BigInt(size) === BigInt(found.size));
    return describe(found, entry.file);
  }
}
