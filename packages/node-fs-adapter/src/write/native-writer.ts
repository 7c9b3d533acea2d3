import path from 'node:path';
import type { WriteOptions } from '@tiered/core';
import { notOpenError } from '@tiered/core/internal';
import { IoThreads, NativeError } from '@tiered/native';
import { openIn } from '../read/batch-threads.js';
import { hasErrno } from '../errors.js';
import { leavesRoot } from '../root/keys.js';
import { conflictOf, refusalOf, TRIES, type MoveInOptions } from './move-in.js';
import type { RootDirectory } from '../root/root-directory.js';

/**
 * Files at a time, as many as Node's thread pool writes: they are copied to the page cache, for which more than the
 * cores are of no use.
 */
const THREADS = 4;

/**
 * Writes whole files in native threads of their own, so that no read waits behind a write. What a `FileWriter` does in
 * a row of calls, each a trip through Node's thread pool or blocking the event loop, is one job here: making the
 * temporary file, writing, closing, and giving it its name. Directories are made when it turns out that they are
 * missing, which is seldom.
 */
export class NativeWriter {
  readonly #driver: string;
  readonly #root: () => RootDirectory;
  #io: IoThreads | undefined;

  /**
   * @param driver Named in errors.
   * @param root The root.
   */
  constructor(driver: string, root: () => RootDirectory) {
    this.#driver = driver;
    this.#root = root;
  }

  /** Files that threads have open now, at most. */
  get openFiles(): number {
    return this.#io === undefined ? 0 : openIn(this.#io);
  }

  /** The root was opened. */
  open(): void {
    this.#io = new IoThreads({ root: this.#root().realPath, threads: THREADS });
  }

  /**
   * As `FileSystemDriver.write`. The memory is read by threads until it has settled. An abort waits for the system call
   * that is under way.
   */
  async write(key: string, bytes: Uint8Array, { ifAbsent = false, signal }: WriteOptions): Promise<void> {
    const root = this.#root();
    const filePath = root.pathOf(key);
    const options = { root, key, filePath, ifAbsent, driver: this.#driver, publishing: 'write' } as const;
    try {
      await this.#moveIn(bytes, options, signal);
    } catch (error) {
      await root.removeEmptyDirectoriesAbove(filePath).catch(() => undefined);
      throw await this.#explained(error, options);
    }
  }

  /** Ends the threads; writes that are under way are aborted. */
  async close(): Promise<void> {
    const io = this.#io;
    this.#io = undefined;
    await io?.close();
  }

  async #moveIn(bytes: Uint8Array, options: MoveInOptions, signal: AbortSignal | undefined): Promise<void> {
    const { root, key, filePath, ifAbsent } = options;
    for (let attempt = 1; ; attempt++) {
      if (this.#io === undefined) throw notOpenError(this.#driver);
      const temporary = root.temporaryKey();
      const file = {
        temporary,
        target: key,
        parts: [bytes],
        areFixed: true,
        mode: root.access.file,
        ifAbsent,
      };
      try {
        if (attempt > 1) await root.makeDirectory(path.dirname(filePath), key);
        await this.#io.writeFile({ ...file, signal });
        return;
      } catch (error) {
        if (!hasErrno(error, 'ENOENT') || attempt === TRIES) throw error;
      }
      // First: a directory that is ours no more is not to have others made in it.
      await root.restorePrivateDirectory();
    }
  }

  /** What the system cannot say. The rest passes as it is, as errors of `node:fs` do. */
  async #explained(error: unknown, options: MoveInOptions): Promise<unknown> {
    const { root, key, ifAbsent, driver } = options;
    if (hasErrno(error, 'OUTSIDE')) return leavesRoot(driver, key);
    const gone = hasErrno(error, 'ENOTDIR') ? await root.goneError(error) : undefined;
    if (gone !== undefined) return gone;
    const isOfName = error instanceof NativeError && error.syscall === 'publish';
    return conflictOf(ifAbsent && isOfName ? await refusalOf(error, options) : error, options);
  }
}
