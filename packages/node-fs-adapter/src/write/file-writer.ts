import fs from 'node:fs';
import path from 'node:path';
import { TieredError, type OperationOptions } from '@tiered/core';
import type { ObjectWriter, Operation, ReadIntoOptions } from '@tiered/core/driver';
import { invariant } from '@tiered/core/internal';
import type { BlockingMode } from '../read/blocking-mode.js';
import { readFully, statOf } from '../read/file-reads.js';
import {
  closeFile,
  makeFile,
  makeFileBlocking,
  sync,
  syncDirectory,
  writeFully,
  writeFullyBlocking,
} from './file-writes.js';
import { moveIn, moveInBlocking, type MoveInOptions } from './move-in.js';

/** What a `FileWriter` needs to know of its object and of its driver. */
export interface FileWriterOptions extends MoveInOptions {
  readonly size: number;
  readonly fsync: boolean;
  readonly mode: BlockingMode;
  /** The operation that errors of a publish name. The caller of a `write` knows of no publish. */
  readonly publishing: 'publish' | 'write';
  /** Runs a part of the work after a look at the signal, and translates its errors. */
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
 * On a local disk (ext4) the system calls of an object of 4 KB take 50 us together and those of 100 KB take
 * 60 us, and six trips through the thread pool 200 us more, one object at a time, and 20 us more eight at a
 * time. So each step is a blocking call as long as such calls are fast, and large parts never are.
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
  /** Its inode, from when it is whole. */
  #inode: bigint | undefined;
  #hasName = false;
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
      mode.attempt(0, () => makeFileBlocking(temporary, root.access.file)) ??
      (await root.inPrivateDirectory(() => makeFile(temporary, root.access.file)));
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
    const { run, mode, filePath, fsync, ifAbsent, published, ended } = this.#options;
    return run('publish', signal, async () => {
      await this.#finish();
      signal?.throwIfAborted();
      const moveAtOnce = () => moveInBlocking(this.#temporary, this.#options);
      if (fsync || ifAbsent || mode.attempt(0, moveAtOnce) === undefined)
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
    const { root, filePath, ended } = this.#options;
    const fd = this.#fd;
    this.#fd = undefined;
    await this.#unused();
    try {
      if (fd !== undefined) await closeFile(fd);
    } catch {
      // The file is thrown away anyway, so a failed close loses nothing.
    }
    await this.#remove().catch(() => undefined);
    await root.removeEmptyDirectoriesAbove(filePath).catch(() => undefined);
    ended();
  }

  /** Removes the file, unless another one has its name meanwhile. */
  async #remove(): Promise<void> {
    const at = this.#hasName ? this.#options.filePath : this.#temporary;
    if (this.#hasName && (await fs.promises.lstat(at, { bigint: true })).ino !== this.#inode) return;
    await fs.promises.rm(at, { force: true });
  }

  /** Closes the file. Every byte is then on the disk, or handed to the system. */
  async #finish(): Promise<void> {
    const { mode, fsync } = this.#options;
    await this.#unused();
    const fd = this.#descriptor;
    // Nobody else uses it from here on, or closes it.
    this.#fd = undefined;
    if (!fsync && mode.mayBlock(0)) {
      mode.blocking(0, () => {
        try {
          this.#assertWhole(fs.fstatSync(fd, { bigint: true }));
        } finally {
          fs.closeSync(fd);
        }
      });
      return;
    }
    try {
      this.#assertWhole(await statOf(fd));
      if (fsync) await sync(fd);
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
    invariant(this.#fd !== undefined, `${this.#options.driver}: a writer was used after its end`);
    return this.#fd;
  }

  #using<T>(call: Promise<T>): Promise<T> {
    this.#underWay.add(call);
    return call.finally(() => this.#underWay.delete(call));
  }
}
