import fs from 'node:fs';
import path from 'node:path';
import { TieredError } from '@tiered/core';
import { hasErrno } from './errors.js';
import { leavesRoot, pathOfKey, PRIVATE_DIRECTORY } from './keys.js';
import { isPresent, Presence, presences, removePresence } from './presence.js';
import { isInside } from './reader-thread/file-calls.js';

/**
 * The directory that a driver may not leave. Knows its real path, whether it is still there, where temporary files
 * go, and whether a path reached through symbolic links is still inside.
 */
export class RootDirectory {
  /** The real path, without symbolic links. */
  readonly realPath: string;
  readonly #driver: string;
  #presence: Promise<Presence> | undefined;
  #id = '';
  #named = 0;
  /** Directories that were made below it, less those that were removed. */
  directoriesMade = 0;

  private constructor(realPath: string, driver: string) {
    this.realPath = realPath;
    this.#driver = driver;
  }

  /**
   * Finds the directory, and for writing makes it and takes possession of it.
   * @throws TieredError `TIERED_UNAVAILABLE` if it is no directory, `TIERED_DIRECTORY_NOT_OURS` if it is to be
   * written and holds other files.
   */
  static async open(root: string, writable: boolean, driver: string): Promise<RootDirectory> {
    const realPath = await reach(root, writable).catch((error: unknown) => {
      throw hasErrno(error, 'ENOENT', 'ENOTDIR', 'EEXIST') ? unavailable(driver, error) : error;
    });
    if (!(await fs.promises.stat(realPath)).isDirectory()) throw unavailable(driver, undefined);
    const directory = new RootDirectory(realPath, driver);
    if (writable) await directory.claim();
    return directory;
  }

  /** Makes the private directory, and removes what writers that died left in it. */
  async claim(): Promise<void> {
    const entries = await fs.promises.readdir(this.realPath);
    if (entries.length > 0 && !entries.includes(PRIVATE_DIRECTORY)) {
      throw new TieredError(
        'TIERED_DIRECTORY_NOT_OURS',
        `${this.#driver} holds files that tiered did not write, such as ${JSON.stringify(entries[0])}; ` +
          `give a tier a directory of its own, because what is in it may be deleted.`,
        { driver: this.#driver, operation: 'open' },
      );
    }
    await fs.promises.mkdir(this.#temporaryDirectory, { recursive: true });
    await fs.promises.mkdir(this.#membersDirectory, { recursive: true });
    if ((await fs.promises.realpath(this.#temporaryDirectory)) !== this.#temporaryDirectory) {
      throw leavesRoot(this.#driver, PRIVATE_DIRECTORY);
    }
    await this.#show();
    await this.#clearUpAfterDead();
  }

  /** Shows, from now on, that this process uses the directory; again if the directory was emptied. */
  async #show(): Promise<void> {
    const presence = await this.#presence;
    if (presence?.isShown === true) return;
    presence?.end();
    this.#presence = Presence.begin(this.#membersDirectory);
    try {
      this.#id = (await this.#presence).id;
    } catch (error) {
      this.#presence = undefined;
      throw error;
    }
  }

  async #clearUpAfterDead(): Promise<void> {
    const known = new Set(await this.presences());
    for (const name of await fs.promises.readdir(this.#temporaryDirectory)) known.add(ownerOf(name));
    known.delete(this.#id);
    for (const id of known) if (!(await this.isPresent(id))) await this.clearUp(id);
  }

  /** The id by which others see that this process runs. */
  async present(): Promise<string> {
    await this.inPrivateDirectory(() => this.#show());
    return this.#id;
  }

  /** Whether the process behind an id runs; true if that cannot be known. */
  isPresent(id: string): Promise<boolean> {
    return isPresent(this.#membersDirectory, id);
  }

  /** Every id, of processes that run or are gone. */
  presences(): Promise<string[]> {
    return presences(this.#membersDirectory);
  }

  /** Deletes what the writers of a process left that is gone. */
  async clearUp(id: string): Promise<void> {
    for (const name of await fs.promises.readdir(this.#temporaryDirectory)) {
      if (ownerOf(name) === id)
        await fs.promises.rm(path.join(this.#temporaryDirectory, name), { force: true });
    }
    await removePresence(this.#membersDirectory, id);
  }

  /** Ends what shows that this process uses the directory. */
  async leave(): Promise<void> {
    (await this.#presence)?.end();
  }

  /** Where the object of a key is. @throws TieredError `TIERED_KEY_INVALID` */
  pathOf(key: string): string {
    return pathOfKey(this.realPath, key, this.#driver);
  }

  /**
   * Makes something in the private directory. If that is not there, somebody emptied the root, or removed and made it
   * again: it is ours once more if it is empty.
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

  /** Where the index is that all who use this directory share. */
  get indexPath(): string {
    return path.join(this.realPath, PRIVATE_DIRECTORY, 'index.db');
  }

  /** A path for a temporary file on the same file system, unlike any other; its name says whose it is. */
  temporaryPath(): string {
    this.#named += 1;
    return `${this.#temporaryDirectory}${path.sep}${this.#id}.${this.#named}`;
  }

  /**
   * The error of an operation that did not find what it needed, if the reason is that the directory itself is gone.
   */
  async goneError(cause: unknown): Promise<TieredError | undefined> {
    const stat = await fs.promises.stat(this.realPath).catch(() => undefined);
    return stat?.isDirectory() === true ? undefined : unavailable(this.#driver, cause);
  }

  /**
   * Makes a directory below the root and those above it, looking before every step where the step leads: a link must
   * not lead the making of directories out of the root, and a root that is gone is not made again.
   */
  async makeDirectory(directory: string, key: string): Promise<void> {
    try {
      await this.assertInside(directory, key);
    } catch (error) {
      if (!hasErrno(error, 'ENOENT') || directory === this.realPath) throw error;
      await this.makeDirectory(path.dirname(directory), key);
      try {
        await fs.promises.mkdir(directory);
        this.directoriesMade += 1;
      } catch (cause) {
        if (!hasErrno(cause, 'EEXIST')) throw cause;
      }
      await this.assertInside(directory, key);
    }
  }

  /** Removes the directories above a path that hold nothing, so that the key of one can become a file. */
  async removeEmptyDirectoriesAbove(filePath: string): Promise<void> {
    try {
      for (let above = path.dirname(filePath); above !== this.realPath; above = path.dirname(above)) {
        // Not through a link: what is empty on its other side is not ours.
        if ((await fs.promises.realpath(above)) !== above) return;
        await fs.promises.rmdir(above);
        this.directoriesMade -= 1;
      }
    } catch (error) {
      if (!hasErrno(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR')) throw error;
    }
  }

  /**
   * Checks that a path, followed through its symbolic links, stays inside, and returns where it leads.
   * @throws TieredError `TIERED_KEY_INVALID`; the error of `realpath` if it leads nowhere.
   */
  async assertInside(filePath: string, key: string): Promise<string> {
    const realPath = await fs.promises.realpath(filePath);
    if (!isInside(this.realPath, realPath)) throw leavesRoot(this.#driver, key);
    return realPath;
  }

  /** As `assertInside`, blocking. */
  assertInsideBlocking(filePath: string, key: string): void {
    if (!isInside(this.realPath, fs.realpathSync.native(filePath))) throw leavesRoot(this.#driver, key);
  }

  /** Checks that an open descriptor is of a file inside. */
  async assertDescriptorInside(fd: number, filePath: string, key: string): Promise<void> {
    if (!this.saysInside(fd, key)) await this.assertInside(filePath, key);
  }

  /**
   * Checks that an open descriptor is of a file inside, as far as the kernel says what was opened: then nobody can
   * swap a directory for a link between check and use. False if the kernel does not say, which only Linux does.
   */
  saysInside(fd: number, key: string): boolean {
    if (process.platform !== 'linux') return false;
    try {
      // Synchronous on purpose: procfs answers from memory in a microsecond, a trip through the thread pool costs more.
      if (!isInside(this.realPath, fs.readlinkSync(`/proc/self/fd/${fd}`)))
        throw leavesRoot(this.#driver, key);
      return true;
    } catch (error) {
      if (!hasErrno(error, 'ENOENT', 'EACCES', 'ENOTDIR')) throw error;
      // No procfs here, as in some sandboxes.
      return false;
    }
  }

  get #temporaryDirectory(): string {
    return path.join(this.realPath, PRIVATE_DIRECTORY, 'tmp');
  }

  get #membersDirectory(): string {
    return path.join(this.realPath, PRIVATE_DIRECTORY, 'members');
  }
}

/** Whose temporary file it is, by its name. */
function ownerOf(temporary: string): string {
  const dot = temporary.lastIndexOf('.');
  return dot === -1 ? temporary : temporary.slice(0, dot);
}

async function reach(root: string, make: boolean): Promise<string> {
  if (make) await fs.promises.mkdir(root, { recursive: true });
  return fs.promises.realpath(root);
}

function unavailable(driver: string, cause: unknown): TieredError {
  return new TieredError(
    'TIERED_UNAVAILABLE',
    `${driver} is not there or is no directory; mount or create it.`,
    {
      cause,
      driver,
      retryable: true,
    },
  );
}
