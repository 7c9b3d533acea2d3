import fs from 'node:fs';
import path from 'node:path';
import { TieredError } from '@tiered/core';
import { hasErrno } from '../errors.js';
import { isPresent, Presence, presences, removePresence } from '../index-home/presence.js';
import { makeDirectories, makeDirectory, PRIVATE, syncDirectory, type Access } from '../write/file-writes.js';
import { isInside, leavesRoot, pathOfKey, PRIVATE_DIRECTORY } from './keys.js';

/** The directory of temporary files, below the root. */
const TEMPORARY = path.join(PRIVATE_DIRECTORY, 'tmp');

/** Errors of `rmdir` for a directory that holds something or is none. */
const NOT_EMPTY = ['ENOTEMPTY', 'EEXIST', 'ENOTDIR'];

/** How a driver uses its directory. */
export interface RootOptions {
  readonly writable: boolean;
  /** Whether new directories are on the disk itself before anything is put into them. */
  readonly fsync: boolean;
  /** The modes of new files and directories. */
  readonly access: Access;
  /** Whether symbolic links may lead out of it. */
  readonly mayLeave: boolean;
}

/**
 * The directory that a driver may not leave. Knows its real path, whether it still exists, where temporary
 * files go, and whether a path reached through symbolic links is still inside.
 */
export class RootDirectory {
  /** The real path, without symbolic links. */
  readonly realPath: string;
  /** The modes of new files and directories in it. */
  readonly access: Access;
  /** The directory that symbolic links may not leave: this one, or that of the whole file system. */
  readonly boundary: string;
  /** The prefix of keys, to name files from the boundary. */
  readonly belowBoundary: string;
  readonly #fsync: boolean;
  readonly #driver: string;
  /**
   * Directories that are being made. Other code in this process may see them before they are on the disk
   * itself.
   */
  readonly #making = new Map<string, Promise<void>>();
  #presence: Presence | undefined;
  #showing: Promise<void> | undefined;
  #id = '';
  #named = 0;

  private constructor(realPath: string, { access, fsync, mayLeave }: RootOptions, driver: string) {
    this.realPath = realPath;
    this.access = access;
    this.boundary = mayLeave ? path.parse(realPath).root : realPath;
    this.belowBoundary = mayLeave ? path.join(realPath.slice(this.boundary.length), path.sep) : '';
    this.#fsync = fsync;
    this.#driver = driver;
  }

  /**
   * Finds the directory. For writing, creates it and claims it.
   * @throws TieredError `TIERED_UNAVAILABLE` if it is not a directory, `TIERED_DIRECTORY_NOT_OURS` if it is
   * opened for writing and holds other files.
   */
  static async open(root: string, options: RootOptions, driver: string): Promise<RootDirectory> {
    const realPath = await reach(root, options).catch((error: unknown) => {
      throw hasErrno(error, 'ENOENT', 'ENOTDIR', 'EEXIST') ? unavailable(driver, error) : error;
    });
    if (!(await fs.promises.stat(realPath)).isDirectory()) throw unavailable(driver, undefined);
    const directory = new RootDirectory(realPath, options, driver);
    if (options.writable) await directory.claim();
    return directory;
  }

  /** Makes the private directory, and removes files that dead writers left in it. */
  async claim(): Promise<void> {
    const entries = await fs.promises.readdir(this.realPath);
    if (entries.length > 0 && !entries.includes(PRIVATE_DIRECTORY)) {
      throw new TieredError(
        'TIERED_DIRECTORY_NOT_OURS',
        `${this.#driver} holds files that tiered did not write, such as ${JSON.stringify(entries[0])}; ` +
          `give a tier a directory of its own, because its files may be deleted.`,
        { driver: this.#driver, operation: 'open' },
      );
    }
    // Always synced. If a power cut left files without this directory, they would be taken for foreign files.
    await makeDirectories(this.#temporaryDirectory, PRIVATE, true);
    await makeDirectories(this.#membersDirectory, PRIVATE, this.#fsync);
    if ((await fs.promises.realpath(this.#temporaryDirectory)) !== this.#temporaryDirectory) {
      throw leavesRoot(this.#driver, PRIVATE_DIRECTORY);
    }
    await this.#show();
    await this.#clearUpAfterDead();
  }

  /** Shows, from now on, that this process uses the directory. Repeated if the directory was emptied. */
  #show(): Promise<void> {
    return (this.#showing ??= this.#beginPresence().finally(() => (this.#showing = undefined)));
  }

  async #beginPresence(): Promise<void> {
    if ((await this.#presence?.isShown()) === true) return;
    await this.#presence?.end();
    this.#presence = await Presence.begin(this.#membersDirectory);
    this.#id = this.#presence.id;
  }

  async #clearUpAfterDead(): Promise<void> {
    const known = new Set(await this.presences());
    for (const name of await fs.promises.readdir(this.#temporaryDirectory)) known.add(ownerOf(name));
    known.delete(this.#id);
    for (const id of known) if (!(await this.isPresent(id))) await this.clearUp(id);
  }

  /** The id that shows others that this process runs. */
  async present(): Promise<string> {
    await this.inPrivateDirectory(() => this.#show());
    return this.#id;
  }

  /** Whether the process with an id runs. True if that cannot be known. */
  isPresent(id: string): Promise<boolean> {
    return isPresent(this.#membersDirectory, id);
  }

  /** Every id, of processes that run or are gone. */
  presences(): Promise<string[]> {
    return presences(this.#membersDirectory);
  }

  /** Deletes files left by the writers of a dead process. */
  async clearUp(id: string): Promise<void> {
    for (const name of await fs.promises.readdir(this.#temporaryDirectory)) {
      if (ownerOf(name) === id)
        await fs.promises.rm(path.join(this.#temporaryDirectory, name), { force: true });
    }
    await removePresence(this.#membersDirectory, id);
  }

  /** Removes the sign that this process uses the directory. */
  async leave(): Promise<void> {
    await this.#showing?.catch(() => undefined);
    await this.#presence?.end();
  }

  /** Returns the path of a key's object. @throws TieredError `TIERED_KEY_INVALID` */
  pathOf(key: string): string {
    return pathOfKey(this.realPath, key, this.#driver);
  }

  /**
   * Creates something in the private directory. If that directory is missing, the root was emptied, or
   * removed and created again. Then the root is claimed again if it is empty.
   */
  async inPrivateDirectory<T>(make: () => T | Promise<T>): Promise<T> {
    try {
      return await make();
    } catch (error) {
      if (!hasErrno(error, 'ENOENT')) throw error;
      await this.claim();
      return make();
    }
  }

  /** Path of the index that all users of this directory share. */
  get indexPath(): string {
    return path.join(this.realPath, PRIVATE_DIRECTORY, 'index.db');
  }

  /** Path of the file whose numbers all users of this directory lock. */
  get locksPath(): string {
    return path.join(this.realPath, PRIVATE_DIRECTORY, 'locks');
  }

  /** Ensures that the directory of temporary files exists; see `inPrivateDirectory`. */
  restorePrivateDirectory(): Promise<void> {
    return this.inPrivateDirectory(() => fs.promises.access(this.#temporaryDirectory));
  }

  /** A new, unique path for a temporary file on the same file system. Its name contains the owner. */
  temporaryPath(): string {
    return this.realPath + path.sep + this.temporaryKey();
  }

  /** Like `temporaryPath`, below the root. */
  temporaryKey(): string {
    this.#named += 1;
    return `${TEMPORARY}${path.sep}${this.#id}.${this.#named}`;
  }

  /** Makes the error of an operation that found something missing, if the directory itself is gone. */
  async goneError(cause: unknown): Promise<TieredError | undefined> {
    const stat = await fs.promises.stat(this.realPath).catch(() => undefined);
    return stat?.isDirectory() === true ? undefined : unavailable(this.#driver, cause);
  }

  /**
   * Creates a directory below the root, and those above it. Before every step checks where it leads, so that
   * a link does not lead out of the root, and a missing root is not created again. With `fsync` they are on
   * the disk itself afterwards.
   */
  async makeDirectory(directory: string, key: string): Promise<void> {
    try {
      await this.assertInside(directory, key);
    } catch (error) {
      if (!hasErrno(error, 'ENOENT') || directory === this.realPath) throw error;
      await this.makeDirectory(path.dirname(directory), key);
      await this.#makeOne(directory);
      await this.assertInside(directory, key);
    }
    await this.#making.get(directory);
  }

  async #makeOne(directory: string): Promise<void> {
    const making = makeDirectory(directory, this.access.directory, this.#fsync);
    this.#making.set(directory, making);
    try {
      await making;
    } finally {
      if (this.#making.get(directory) === making) this.#making.delete(directory);
    }
  }

  /**
   * Removes empty directories above a path, so that the key of one can become a file. With `fsync` their
   * removal, and that of the entries below, is on the disk itself afterwards.
   */
  async removeEmptyDirectoriesAbove(filePath: string): Promise<void> {
    let above = path.dirname(filePath);
    for (; above !== this.realPath; above = path.dirname(above)) {
      try {
        // Not through a link, because an empty directory on its other side is not ours.
        if ((await fs.promises.realpath(above)) !== above) break;
        await fs.promises.rmdir(above);
      } catch (error) {
        if (hasErrno(error, ...NOT_EMPTY)) break;
        if (!hasErrno(error, 'ENOENT')) throw error;
      }
    }
    if (this.#fsync) await syncDirectory(above);
  }

  /** Removes every empty directory below the root, without going through links. */
  async removeEmptyDirectories(signal?: AbortSignal, directory = this.realPath): Promise<void> {
    signal?.throwIfAborted();
    const entries = await fs.promises.opendir(directory).catch(unlessGone);
    for await (const entry of entries ?? [])
      if (entry.isDirectory() && !(directory === this.realPath && entry.name === PRIVATE_DIRECTORY))
        await this.removeEmptyDirectories(signal, path.join(directory, entry.name));
    if (directory !== this.realPath) await fs.promises.rmdir(directory).catch(unlessGone);
  }

  /**
   * Checks that a path, followed through its symbolic links, stays inside, and returns its target.
   * @throws TieredError `TIERED_KEY_INVALID`; the error of `realpath` if it leads nowhere.
   */
  async assertInside(filePath: string, key: string): Promise<string> {
    const realPath = await fs.promises.realpath(filePath);
    if (!isInside(this.boundary, realPath)) throw leavesRoot(this.#driver, key);
    return realPath;
  }

  /** Checks that an open descriptor belongs to a file inside. */
  async assertDescriptorInside(fd: number, filePath: string, key: string): Promise<void> {
    if (!this.saysInside(fd, key)) await this.assertInside(filePath, key);
  }

  /**
   * Checks that an open descriptor belongs to a file inside, according to the kernel. So a directory cannot
   * be swapped for a link between check and use. False if the kernel does not say; only Linux does.
   */
  saysInside(fd: number, key: string): boolean {
    if (process.platform !== 'linux') return false;
    try {
      // Synchronous on purpose: procfs answers from memory in a microsecond, and a trip through the thread
      // pool costs more.
      if (!isInside(this.boundary, fs.readlinkSync(`/proc/self/fd/${fd}`)))
        throw leavesRoot(this.#driver, key);
      return true;
    } catch (error) {
      if (!hasErrno(error, 'ENOENT', 'EACCES', 'ENOTDIR')) throw error;
      // No procfs here, as in some sandboxes.
      return false;
    }
  }

  get #temporaryDirectory(): string {
    return path.join(this.realPath, TEMPORARY);
  }

  get #membersDirectory(): string {
    return path.join(this.realPath, PRIVATE_DIRECTORY, 'members');
  }
}

/** Returns the owner of a temporary file, from its name. */
function ownerOf(temporary: string): string {
  const dot = temporary.lastIndexOf('.');
  return dot === -1 ? temporary : temporary.slice(0, dot);
}

async function reach(root: string, { writable, access, fsync }: RootOptions): Promise<string> {
  if (writable) await makeDirectories(path.resolve(root), access.directory, fsync);
  return fs.promises.realpath(root);
}

function unavailable(driver: string, cause: unknown): TieredError {
  return new TieredError(
    'TIERED_UNAVAILABLE',
    `${driver} is missing, or is not a directory; mount or create it.`,
    {
      cause,
      driver,
      retryable: true,
    },
  );
}

/** Ignores a directory that was removed meanwhile, or is no longer empty. */
function unlessGone(error: unknown): undefined {
  if (!hasErrno(error, 'ENOENT', ...NOT_EMPTY)) throw error;
}
