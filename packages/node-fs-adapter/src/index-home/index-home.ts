import fs from 'node:fs';
import type { HomeLocks, IndexHome } from '@tiered/core/driver';
import { native, NumberLocks } from '@tiered/native';
import { hasErrno } from '../errors.js';
import { closeFile, makeFile } from '../write/file-writes.js';
import type { OpenFiles } from '../root/open-files.js';
import type { RootDirectory } from '../root/root-directory.js';

/** Only the owner may read and change messages between processes. */
const MODE = 0o600;

/** Parts of the driver that a home needs. */
export interface DirectoryHomeOptions {
  readonly root: RootDirectory;
  readonly files: OpenFiles;
  readonly fsync: boolean;
}

/** The home of a tier's index in the tier's own directory. */
export class DirectoryHome implements IndexHome {
  readonly member: string;
  readonly path: string;
  readonly durable: boolean;
  readonly boot = bootId();
  readonly isOnTier = true;
  readonly blockBytes: number;
  readonly #options: DirectoryHomeOptions;
  readonly #locks: NumberLocks | undefined;

  private constructor(
    options: DirectoryHomeOptions,
    { member, blockBytes, locks }: { member: string; blockBytes: number; locks: NumberLocks | undefined },
  ) {
    this.#options = options;
    this.#locks = locks;
    this.member = member;
    this.path = options.root.indexPath;
    this.durable = options.fsync;
    this.blockBytes = blockBytes;
  }

  /** @throws errors of the system. */
  static async open(options: DirectoryHomeOptions): Promise<DirectoryHome> {
    const { root } = options;
    const member = await root.present();
    await makePrivateFile(root.indexPath);
    const { bsize } = await fs.promises.statfs(root.realPath);
    const locks = await openLocks(root.locksPath);
    return new DirectoryHome(options, { member, blockBytes: Math.max(1, bsize), locks });
  }

  get locks(): HomeLocks | undefined {
    return this.#locks;
  }

  isRunning(member: string): Promise<boolean> {
    return this.#options.root.isPresent(member);
  }

  async others(): Promise<readonly string[]> {
    const { root } = this.#options;
    const running: string[] = [];
    for (const id of await root.presences())
      if (id !== this.member && (await root.isPresent(id))) running.push(id);
    return running;
  }

  clearUp(member: string): Promise<void> {
    return this.#options.root.clearUp(member);
  }

  forget(name: string): Promise<void> {
    return this.#options.files.forgotten(name);
  }

  removeEmptyDirectories(signal?: AbortSignal): Promise<void> {
    return this.#options.root.removeEmptyDirectories(signal);
  }

  /** After this, others see that nothing is open here. The next opening is another member. */
  async close(): Promise<void> {
    const { files, root } = this.#options;
    await files.close();
    await this.#locks?.close();
    await root.leave();
  }
}

/**
 * Creates an empty file if there is none. An existing file is not opened, because closing it would end the
 * locks that a database of this process has on it.
 */
async function makePrivateFile(filePath: string): Promise<void> {
  try {
    await closeFile(await makeFile(filePath, MODE));
  } catch (error) {
    if (!hasErrno(error, 'EEXIST')) throw error;
  }
}

/** Without locks, processes that miss an object at the same moment each fetch it. Nothing else is lost. */
async function openLocks(filePath: string): Promise<NumberLocks | undefined> {
  return native().available ? NumberLocks.open(filePath).catch(() => undefined) : undefined;
}

/** Returns the kernel's id of the present boot, if there is one (Linux). */
function bootId(): string | undefined {
  try {
    return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}
