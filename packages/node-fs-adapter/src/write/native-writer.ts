import path from 'node:path';
import type { WriteData, WriteOptions } from '@tiered/core/driver';
import { notOpenError } from '@tiered/core/internal';
import { IoThreads, NativeError } from '@tiered/native';
import { openIn } from '../read/native-reader.js';
import type { ThreadPool } from '../read/thread-pool.js';
import { hasErrno } from '../errors.js';
import { leavesRoot } from '../root/keys.js';
import { conflictOf, refusalOf, TRIES, type MoveInOptions } from './move-in.js';
import type { RootDirectory } from '../root/root-directory.js';

/**
 * Concurrent files, as many as Node's thread pool writes. They are copied to the page cache, where more
 * threads than cores are useless.
 */
const THREADS = 4;

/**
 * Writes whole files in native threads of their own, so that no read waits behind a write. A `FileWriter`
 * makes several calls, each of which is a trip through Node's thread pool or blocks the event loop. Here,
 * creating the temporary file, writing, closing, and renaming it are one job. Directories are created only
 * when they turn out to be missing, which is rare.
 */
export class NativeWriter {
  readonly #driver: string;
  readonly #root: () => RootDirectory;
  readonly #pool: ThreadPool;
  #io: IoThreads | undefined;

  /**
   * @param driver Named in errors.
   * @param root The root.
   * @param pool Makes and removes directories.
   */
  constructor(driver: string, root: () => RootDirectory, pool: ThreadPool) {
    this.#driver = driver;
    this.#root = root;
    this.#pool = pool;
  }

  /** The most files that threads may have open now. */
  get openFiles(): number {
    return this.#io === undefined ? 0 : openIn(this.#io);
  }

  /** Called when the root was opened. */
  open(): void {
    this.#io = new IoThreads({ root: this.#root().realPath, threads: THREADS });
  }

  /**
   * Like `FileSystemDriver.write`. Threads read the memory until the call has settled. An abort waits for the
   * system call in flight.
   */
  async write(
    key: string,
    parts: readonly Uint8Array[],
    { ifAbsent = false, signal }: WriteOptions,
  ): Promise<void> {
    const root = this.#root();
    const filePath = root.pathOf(key);
    const options = { root, key, filePath, ifAbsent, driver: this.#driver, publishing: 'write' } as const;
    try {
      await this.#moveIn(parts, options, signal);
    } catch (error) {
      const clearUp = () => root.removeEmptyDirectoriesAbove(filePath);
      await this.#pool.change(undefined, clearUp).catch(() => undefined);
      throw await this.#explained(error, options);
    }
  }

  /** Ends the threads. Writes in flight are aborted. */
  async close(): Promise<void> {
    const io = this.#io;
    this.#io = undefined;
    await io?.close();
  }

  async #moveIn(
    parts: readonly Uint8Array[],
    options: MoveInOptions,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { root, key, filePath, ifAbsent } = options;
    for (let attempt = 1; ; attempt++) {
      if (this.#io === undefined) throw notOpenError(this.#driver);
      const temporary = root.temporaryKey();
      const file = {
        temporary,
        target: key,
        parts,
        areFixed: true,
        mode: root.access.file,
        ifAbsent,
      };
      try {
        const makeDirectory = () => root.makeDirectory(path.dirname(filePath), key);
        if (attempt > 1) await this.#pool.change(signal, makeDirectory);
        await this.#io.writeFile({ ...file, signal });
        return;
      } catch (error) {
        if (!hasErrno(error, 'ENOENT') || attempt === TRIES) throw error;
      }
      // Checked first, because no directories may be created in a root that is no longer ours.
      await this.#pool.change(signal, () => root.restorePrivateDirectory());
    }
  }

  /**
   * Translates codes that the system does not have. Other errors are returned unchanged, like those of
   * `node:fs`.
   */
  async #explained(error: unknown, options: MoveInOptions): Promise<unknown> {
    const { root, key, ifAbsent, driver } = options;
    if (hasErrno(error, 'OUTSIDE')) return leavesRoot(driver, key);
    const gone = hasErrno(error, 'ENOTDIR') ? await root.goneError(error) : undefined;
    if (gone !== undefined) return gone;
    const isOfName = error instanceof NativeError && error.syscall === 'publish';
    return conflictOf(ifAbsent && isOfName ? await refusalOf(error, options) : error, options);
  }
}

/** The parts of data that is already available and has the announced size. Undefined for other data. */
export function partsOf(data: WriteData, size: number): readonly Uint8Array[] | undefined {
  if (Symbol.asyncIterator in data) return undefined;
  const parts = data instanceof Uint8Array ? [data] : data;
  let bytes = 0;
  for (const { byteLength } of parts) bytes += byteLength;
  return bytes === size ? parts : undefined;
}
