import fs from 'node:fs';
import path from 'node:path';
import {
  TieredError,
  type ObjectWriter,
  type Operation,
  type OperationOptions,
  type ReadIntoOptions,
} from '@tiered/core';
import { invariant } from '@tiered/core/internal';
import type { BlockingMode } from './blocking-mode.js';
import { hasErrno } from './errors.js';
import { readFully } from './file-reads.js';
import {
  closeFile,
  makeFile,
  makeFileBlocking,
  sizeOf,
  sync,
  writeFully,
  writeFullyBlocking,
} from './file-writes.js';
import type { RootDirectory } from './root-directory.js';

/** What a `FileWriter` needs to know of its object and of its driver. */
export interface FileWriterOptions {
  readonly root: RootDirectory;
  readonly key: string;
  readonly filePath: string;
  readonly size: number;
  readonly fsync: boolean;
  readonly driver: string;
  readonly mode: BlockingMode;
  /** What its errors call a publish: that of a `write` is not one the caller knows of. */
  readonly publishing: 'publish' | 'write';
  /** Runs a part of it after a look at the signal, and says what its errors mean. */
  readonly run: <T>(
    operation: Operation,
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
  ) => Promise<T>;
  /** Another file has the name of this one from now on. */
  readonly published: () => void;
  /** It holds nothing any more. */
  readonly ended: () => void;
}

/**
 * A parent directory may be removed as empty just before the file moves in; then it is made again. Each try that is lost
 * is a neighbour that was deleted meanwhile, so many are lost only where many are.
 */
const TRIES_TO_MOVE_IN = 50;

/**
 * Writes a file so that a reader sees the old one, none, or the whole new one: into a temporary file on the same file
 * system, whose size is checked on the disk, then renamed. What is discarded takes with it the directories that were
 * made for it.
 *
 * On a local disk (ext4) the system calls of an object of 4 KB take 50 us together and those of 100 KB take 60 us, and
 * six trips through the thread pool 200 us more, one object at a time, and 20 us more eight at a time. So each step is
 * a blocking call as long as such calls are fast, and large parts never are.
 */
export class FileWriter implements ObjectWriter {
  readonly #options: FileWriterOptions;
  readonly #temporary: string;
  /** Calls that use the descriptor in the thread pool; it is closed after them, so that none meets another file. */
  readonly #underWay = new Set<Promise<unknown>>();
  #fd: number | undefined;
  #discarding: Promise<void> | undefined;
  #published = false;

  private constructor(options: FileWriterOptions, temporary: string, fd: number) {
    this.#options = options;
    this.#temporary = temporary;
    this.#fd = fd;
  }

  /** Makes the temporary file. */
  static async create(options: FileWriterOptions): Promise<FileWriter> {
    const { root, mode } = options;
    const temporary = root.temporaryPath();
    const fd =
      mode.attempt(0, () => makeFileBlocking(temporary)) ??
      (await root.inPrivateDirectory(() => makeFile(temporary)));
    return new FileWriter(options, temporary, fd);
  }

  writeAt(bytes: Uint8Array, { offset, signal }: ReadIntoOptions): Promise<void> {
    return this.#options.run('writeAt', signal, async () => {
      const fd = this.#descriptor;
      const write = () => writeFullyBlocking(fd, bytes, offset);
      if (this.#options.mode.attempt(bytes.byteLength, write) !== undefined) return;
      await this.#using(writeFully(fd, bytes, offset));
    });
  }

  readInto(target: Uint8Array, { offset, signal }: ReadIntoOptions): Promise<number> {
    const { run, size } = this.#options;
    return run('readInto', signal, () =>
      this.#using(readFully({ fd: this.#descriptor, size }, target, offset)),
    );
  }

  publish({ signal }: OperationOptions): Promise<void> {
    const { run, mode, filePath, fsync, published, ended } = this.#options;
    return run('publish', signal, async () => {
      await this.#finish();
      signal?.throwIfAborted();
      if (mode.attempt(0, () => this.#moveInBlocking()) === undefined) await this.#moveIn();
      this.#published = true;
      published();
      ended();
      if (fsync) await syncDirectory(path.dirname(filePath));
    });
  }

  discard(): Promise<void> {
    return (this.#discarding ??= this.#discard());
  }

  async #discard(): Promise<void> {
    if (this.#published) return;
    const { root, filePath, ended } = this.#options;
    const fd = this.#fd;
    this.#fd = undefined;
    await this.#unused();
    try {
      if (fd !== undefined) await closeFile(fd);
    } catch {
      // What it may have lost was to be thrown away.
    }
    await fs.promises.rm(this.#temporary, { force: true }).catch(() => undefined);
    await root.removeEmptyDirectoriesAbove(filePath).catch(() => undefined);
    ended();
  }

  /** Closes the file, of which every byte is on the disk then, or handed to the system. */
  async #finish(): Promise<void> {
    const { mode, fsync } = this.#options;
    await this.#unused();
    const fd = this.#descriptor;
    // Nobody else uses it from here on, or closes it.
    this.#fd = undefined;
    if (!fsync && mode.mayBlock(0)) {
      mode.blocking(0, () => {
        try {
          this.#assertWhole(fs.fstatSync(fd).size);
        } finally {
          fs.closeSync(fd);
        }
      });
      return;
    }
    try {
      this.#assertWhole(await sizeOf(fd));
      if (fsync) await sync(fd);
    } finally {
      await closeFile(fd);
    }
  }

  /** Resolves when no call uses the descriptor. */
  async #unused(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  #assertWhole(onDisk: number): void {
    const { driver, key, size, publishing } = this.#options;
    if (onDisk === size) return;
    throw new TieredError(
      'TIERED_SIZE_MISMATCH',
      `${driver}: ${JSON.stringify(key)} has ${onDisk} bytes on the disk instead of ${size}; nothing was published.`,
      { driver, operation: publishing, key },
    );
  }

  /** As `#moveIn`, for the directory that is there already. */
  #moveInBlocking(): true {
    const { root, filePath, key } = this.#options;
    root.assertInsideBlocking(path.dirname(filePath), key);
    fs.renameSync(this.#temporary, filePath);
    return true;
  }

  async #moveIn(): Promise<void> {
    const { root, key, filePath, driver, publishing } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        await root.makeDirectory(path.dirname(filePath), key);
        await fs.promises.rename(this.#temporary, filePath);
        return;
      } catch (error) {
        if (hasErrno(error, 'ENOENT') && attempt < TRIES_TO_MOVE_IN) continue;
        if (!hasErrno(error, 'EEXIST', 'ENOTDIR', 'EISDIR', 'ENOTEMPTY')) throw error;
        throw new TieredError(
          'TIERED_KEY_CONFLICT',
          `${driver}: ${JSON.stringify(key)} cannot be a file here, because another key made it, or a part of it, ` +
            `the other of file and directory.`,
          { cause: error, driver, operation: publishing, key },
        );
      }
    }
  }

  get #descriptor(): number {
    invariant(this.#fd !== undefined, `${this.#options.driver}: a writer was used after its end`);
    return this.#fd;
  }

  #using<T>(call: Promise<T>): Promise<T> {
    this.#underWay.add(call);
    return call.finally(() => this.#underWay.delete(call));
  }
}

/** Makes a rename durable. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await fs.promises.open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
