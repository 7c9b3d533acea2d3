import fs from 'node:fs';
import { promisify } from 'node:util';
import { modeToSet } from '../root/access.js';
import { hasErrno } from '../errors.js';

/** `write(2)` takes 2 GiB at most; a round number below that. */
const MOST_AT_ONCE = 2 ** 30;

/** For writing and reading, and only if there is no such file yet. */
const NEW_FILE = 'wx+';

const open = promisify(fs.open);
const fstat = promisify(fs.fstat);
const fchmod = promisify(fs.fchmod);

/** Makes a file of this mode, whatever the umask is. */
export async function makeFile(filePath: string, mode: number): Promise<number> {
  const fd = await open(filePath, NEW_FILE, mode);
  try {
    const toSet = modeToSet(mode, (await fstat(fd)).mode);
    if (toSet !== undefined) await fchmod(fd, toSet);
    return fd;
  } catch (error) {
    await closeFile(fd);
    throw error;
  }
}

/** Writes all bytes at a position; callbacks on bare descriptors, as in `readFully`. */
export async function writeFully(fd: number, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength;) done += await writeOnce(fd, bytes, done, position + done);
}

function writeOnce(fd: number, bytes: Uint8Array, done: number, position: number): Promise<number> {
  const length = Math.min(MOST_AT_ONCE, bytes.byteLength - done);
  return new Promise((resolve, reject) => {
    fs.write(fd, bytes, done, length, position, (error, count) => (error ? reject(error) : resolve(count)));
  });
}

/** Syncs what was written to the disk itself. */
export function sync(fd: number): Promise<void> {
  return new Promise((resolve, reject) => fs.fsync(fd, (error) => (error ? reject(error) : resolve())));
}

/**
 * Syncs the names that a directory holds to the disk itself. A directory that is gone has no names to lose.
 */
export async function syncDirectory(directory: string): Promise<void> {
  try {
    const fd = await new Promise<number>((resolve, reject) => {
      fs.open(directory, (error, opened) => (error ? reject(error) : resolve(opened)));
    });
    try {
      await sync(fd);
    } finally {
      await closeFile(fd);
    }
  } catch (error) {
    if (!hasErrno(error, 'ENOENT')) throw error;
  }
}

/** Closes a file. On network file systems this is where a write may fail. */
export function closeFile(fd: number): Promise<void> {
  return new Promise((resolve, reject) => fs.close(fd, (error) => (error ? reject(error) : resolve())));
}
