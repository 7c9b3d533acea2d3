import fs from 'node:fs';
import path from 'node:path';
import { TieredError } from '@tiered/core';
import { hasErrno } from './errors.js';
import type { RootDirectory } from './root-directory.js';

/** What `writeAtomically` needs to know. */
export interface AtomicWrite {
  readonly root: RootDirectory;
  readonly key: string;
  readonly filePath: string;
  readonly pieces: AsyncIterable<Uint8Array>;
  readonly size: number;
  readonly fsync: boolean;
  readonly driver: string;
  readonly signal: AbortSignal | undefined;
}

/** A parent directory may be removed as empty just before the file moves in; then it is made again. */
const TRIES_TO_MOVE_IN = 5;

/**
 * Writes a file so that a reader sees the old one, none, or the whole new one: into a temporary file beside it on the
 * same file system, whose size is checked on the disk, then renamed. Whatever goes wrong, the temporary file goes, and
 * with it the directories that were made for the new one.
 */
export async function writeAtomically(write: AtomicWrite): Promise<void> {
  const temporary = write.root.temporaryPath();
  try {
    await fill(temporary, write);
    write.signal?.throwIfAborted();
    await moveIn(temporary, write);
  } catch (error) {
    await fs.promises.rm(temporary, { force: true }).catch(() => undefined);
    await write.root.removeEmptyDirectoriesAbove(write.filePath).catch(() => undefined);
    throw error;
  }
}

async function fill(
  temporary: string,
  { root, pieces, size, fsync, driver, key }: AtomicWrite,
): Promise<void> {
  const file = await fs.promises.open(temporary, 'wx', 0o644).catch(async (error: unknown) => {
    if (!hasErrno(error, 'ENOENT')) throw error;
    // Somebody emptied the root, or removed and made it again: it is ours once more if it is empty.
    await root.claim();
    return fs.promises.open(temporary, 'wx', 0o644);
  });
  try {
    for await (const piece of pieces) await file.appendFile(piece);
    if (fsync) await file.sync();
    const onDisk = (await file.stat()).size;
    if (onDisk !== size) {
      throw new TieredError(
        'TIERED_SIZE_MISMATCH',
        `${driver}: ${JSON.stringify(key)} has ${onDisk} bytes on the disk instead of ${size}; nothing was published.`,
        { driver, operation: 'write', key },
      );
    }
  } finally {
    await file.close();
  }
}

async function moveIn(temporary: string, { root, key, filePath, fsync, driver }: AtomicWrite): Promise<void> {
  const parent = path.dirname(filePath);
  for (let attempt = 1; ; attempt++) {
    try {
      await root.makeDirectory(parent, key);
      await fs.promises.rename(temporary, filePath);
      break;
    } catch (error) {
      if (hasErrno(error, 'ENOENT') && attempt < TRIES_TO_MOVE_IN) continue;
      if (!hasErrno(error, 'EEXIST', 'ENOTDIR', 'EISDIR', 'ENOTEMPTY')) throw error;
      throw new TieredError(
        'TIERED_KEY_CONFLICT',
        `${driver}: ${JSON.stringify(key)} cannot be a file here, because another key made it, or a part of it, ` +
          `the other of file and directory.`,
        { cause: error, driver, operation: 'write', key },
      );
    }
  }
  if (fsync) await syncDirectory(parent);
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
