import fs from 'node:fs';
import path from 'node:path';
import { TieredError, type OperationOptions } from '@tiered/core';
import type { ObjectWriter, Operation, ReadIntoOptions } from '@tiered/core/driver';
import { invariant } from '@tiered/core/internal';
import { readFully, statOf } from '../read/file-calls.js';
import type { ThreadPool } from '../read/thread-pool.js';
import { closeFile, makeFile, sync, syncDirectory, writeFully } from './file-writes.js';
import { moveIn, type MoveInOptions } from './move-in.js';

/** The object and the driver of a `FileWriter`. */
export interface FileWriterOptions extends MoveInOptions {
  readonly size: number;
  readonly fsync: boolean;
  /** Limits the clean-up calls, which do not go through `run`. */
  readonly pool: ThreadPool;
  /** The operation named in errors of a publish. The caller of a `write` knows of no publish. */
  readonly publishing: 'publish' | 'write';
  /** Runs a part of the work after a check of the signal, and translates its errors. */
  readonly run: <T>(
    operation: Operation,
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
  ) => Promise<T>;
  /** Called when the key leads to another file from now on. */
  readonly published: () => void;
  /** Called when the writer holds nothing any more. */
  readonly ended: () => void;
}

/**
 * Writes a file so that a reader sees the old one, none, or the whole new one: into a temporary file on the
 * same file system, whose size is checked on the disk, then renamed. A discarded file is removed together
 * with the directories that were made for it.
 *
 * Each step is a trip through the thread pool. Together they take 200 us longer than blocking calls for one
 * object at a time, and 20 us for eight. But a disk may stop accepting writes at any moment (a snapshot, a
 * controller that hangs). It then blocks its writer, and that must not be the event loop.
 */
export class FileWriter implements ObjectWriter {
  readonly #options: FileWriterOptions;
  readonly #temporary: string;
  /**
   * Calls that use the descriptor in the thread pool. It is closed after them, so that none meets another
   * file.
   */
  readonly #underWay = new Set<Promise<unknown>>();
  #fd: number | undefined;
  #discarding: Promise<void> | undefined;
  /** Its inode, known once it is complete. */
  #inode: bigint | undefined;
  #hasName = false;
  #isEnding = false;
  #published = false;

  private constructor(options: FileWriterOptions, temporary: string, fd: number) {
    this.#options = options;
    this.#temporary = temporary;
    this.#fd = fd;
  }

  /** Makes the temporary file. */
  static async create(options: FileWriterOptions): Promise<FileWriter> {
    const { root } = options;
    const temporary = root.temporaryPath();
    const fd = await root.inPrivateDirectory(() => makeFile(temporary, root.access.file));
    return new FileWriter(options, temporary, fd);
  }

  async writeAt(bytes: Uint8Array, { offset, signal }: ReadIntoOptions): Promise<void> {
    const fd = this.#descriptor;
    await this.#using(this.#options.run('writeAt', signal, () => writeFully(fd, bytes, offset)));
  }

  async readInto(target: Uint8Array, { offset, signal }: ReadIntoOptions): Promise<number> {
    const { run, size } = this.#options;
    const fd = this.#descriptor;
    return this.#using(run('readInto', signal, () => readFully({ fd, size }, target, offset)));
  }

  async publish({ signal }: OperationOptions): Promise<void> {
    const { run, filePath, fsync, published, ended } = this.#options;
    this.#isEnding = true;
    // Before its turn comes, because those calls wait for theirs.
    await this.#unused();
    return run('publish', signal, async () => {
      await this.#finish();
      signal?.throwIfAborted();
      await moveIn(this.#temporary, this.#options);
      this.#hasName = true;
      try {
        if (fsync) await syncDirectory(path.dirname(filePath));
      } finally {
        published();
      }
      this.#published = true;
      ended();
    });
  }

  discard(): Promise<void> {
    return (this.#discarding ??= this.#discard());
  }

  async #discard(): Promise<void> {
    if (this.#published) return;
    const fd = this.#fd;
    this.#fd = undefined;
    await this.#unused();
    await this.#options.pool.change(undefined, () => this.#clearUp(fd));
    this.#options.ended();
  }

  async #clearUp(fd: number | undefined): Promise<void> {
    const { root, filePath } = this.#options;
    try {
      if (fd !== undefined) await closeFile(fd);
    } catch {
      // The file is thrown away anyway, so a failed close loses nothing.
    }
    await this.#remove().catch(() => undefined);
    await root.removeEmptyDirectoriesAbove(filePath).catch(() => undefined);
  }

  /** Removes the file, unless its name now belongs to another one. */
  async #remove(): Promise<void> {
    const at = this.#hasName ? this.#options.filePath : this.#temporary;
    if (this.#hasName && (await fs.promises.lstat(at, { bigint: true })).ino !== this.#inode) return;
    await fs.promises.rm(at, { force: true });
  }

  /** Closes the file. Every byte is then on the disk, or handed to the system. */
  async #finish(): Promise<void> {
    const fd = this.#fd;
    invariant(fd !== undefined, `${this.#options.driver}: a writer was published after its end`);
    // From here on it is not used or closed elsewhere.
    this.#fd = undefined;
    try {
      this.#assertWhole(await statOf(fd));
      if (this.#options.fsync) await sync(fd);
    } finally {
      await closeFile(fd);
    }
  }

  /** Resolves when no call uses the descriptor. */
  async #unused(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  #assertWhole({ size: onDisk, ino }: fs.BigIntStats): void {
    const { driver, key, size, publishing } = this.#options;
    this.#inode = ino;
    if (onDisk === BigInt(size)) return;
    throw new TieredError(
      'TIERED_SIZE_MISMATCH',
      `${driver}: ${JSON.stringify(key)} has ${onDisk} bytes on the disk instead of ${size}; nothing was published.`,
      { driver, operation: publishing, key },
    );
  }

  get #descriptor(): number {
    invariant(
      this.#fd !== undefined && !this.#isEnding,
      `${this.#options.driver}: a writer was used after its end`,
    );
    return this.#fd;
  }

  #using<T>(call: Promise<T>): Promise<T> {
    this.#underWay.add(call);
    return call.finally(() => this.#underWay.delete(call));
  }
}
