import { existingAt } from '@tiered/core/internal';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { access, constants, readdir, realpath, stat, statfs } from 'node:fs/promises';
import { within, type Patience } from '../within.js';
import { fileSystemOf, mountOf, type FileSystem, type Mount } from './file-systems.js';

/** A directory as it is found. Nothing is made, opened for writing or changed to find out. */
export interface DirectoryFacts {
  /** `own`: a tier's, with copies perhaps. `foreign`: it holds other files. */
  readonly state: 'missing' | 'empty' | 'own' | 'foreign' | 'no directory' | 'unreadable';
  /** Whether what is not there can be made, or what is there written to; else why not (`EACCES`). */
  readonly refusal: string | undefined;
  readonly fileSystem: FileSystem;
  /** The same for all directories of one file system. */
  readonly device: number;
  /** Bytes that this user may still write. */
  readonly freeBytes: number;
  /** Bytes that are taken in it; undefined if that was not counted in time. */
  readonly usedBytes: number | undefined;
  readonly mount: Mount | undefined;
}

/** What makes a directory a tier's. */
const PRIVATE_DIRECTORY = '.tiered';

/**
 * Looks at a directory. One that is missing has the facts of the closest one above it.
 * @param counting How long the content of a tier is counted.
 * @throws Errors of the system for a path that leads nowhere.
 */
export async function lookAt(directory: string, counting: Patience): Promise<DirectoryFacts> {
  const nearest = await existingAt(directory);
  const real = await realpath(nearest);
  const found = await stat(real);
  const isThere = nearest === directory;
  const { bavail, bsize, type } = await statfs(real);
  const state = !found.isDirectory() ? 'no directory' : isThere ? await contentOf(real) : 'missing';
  return {
    state,
    refusal: await refusalOf(real),
    fileSystem: fileSystemOf(type, process.platform),
    device: found.dev,
    freeBytes: bavail * bsize,
    usedBytes: state === 'own' ? await usedIn(real, counting) : 0,
    mount: await mountOf(real),
  };
}

async function contentOf(directory: string): Promise<DirectoryFacts['state']> {
  try {
    const entries = await readdir(directory);
    if (entries.length === 0) return 'empty';
    return entries.includes(PRIVATE_DIRECTORY) ? 'own' : 'foreign';
  } catch {
    return 'unreadable';
  }
}

/** Why nothing can be written in a directory: the code of the system. */
async function refusalOf(directory: string): Promise<string | undefined> {
  try {
    await access(directory, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'EACCES';
  }
}

/** What the copies of a tier take, by a driver that only reads. */
async function usedIn(root: string, counting: Patience): Promise<number | undefined> {
  const driver = new FileSystemDriver({ root, clock: counting.clock });
  try {
    const usage = await within(counting, async (signal) => {
      await driver.open({ signal });
      return driver.usage({ signal });
    });
    return usage.occupiedBytes;
  } catch {
    return undefined;
  } finally {
    await driver.close();
  }
}
