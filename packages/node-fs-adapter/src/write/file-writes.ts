/*
 * The calls with which the driver creates files and directories with the intended rights, writes, and syncs.
 */
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { hasErrno } from '../errors.js';

/** Readers of the files that a driver writes; only the owner may ever change them. */
export const READERS = ['owner', 'group', 'everyone'] as const;

/** One of `READERS`. */
export type ReadableBy = (typeof READERS)[number];

/** The modes of files and directories. */
export interface Access {
  readonly file: number;
  readonly directory: number;
}

const TO_READ: Record<ReadableBy, number> = { owner: 0, group: 0o040, everyone: 0o044 };

/** The mode of directories that are the driver's alone. */
export const PRIVATE = 0o700;

/** All bits of a mode except the type of the file. */
const ALL_BITS = 0o7777;

/** `write(2)` takes 2 GiB at most. This is a round number below that. */
const MOST_AT_ONCE = 2 ** 30;

/** For writing and reading, and only if there is no such file yet. */
const NEW_FILE = 'wx+';

const open = promisify(fs.open);
const fstat = promisify(fs.fstat);
const fchmod = promisify(fs.fchmod);

/** Returns the modes for a choice of readers. A reader of a directory may also enter it. */
export function accessOf(readableBy: ReadableBy): Access {
  const read = TO_READ[readableBy];
  return { file: 0o600 | read, directory: PRIVATE | read | (read >> 2) };
}

/** Creates a file with this mode, whatever the umask. */
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

/** Creates a directory with this mode, whatever the umask. An existing one stays unchanged. */
export async function makeDirectory(directory: string, mode: number, fsync: boolean): Promise<void> {
  try {
    await fs.promises.mkdir(directory, { mode });
    const toSet = modeToSet(mode, (await fs.promises.stat(directory)).mode);
    if (toSet !== undefined) await fs.promises.chmod(directory, toSet);
  } catch (error) {
    if (!hasErrno(error, 'EEXIST')) throw error;
  }
  // Also if another process has made it, because that one may not have synced it yet.
  if (fsync) await syncDirectory(path.dirname(directory));
}

/** Like `makeDirectory`, with the missing directories above it. @throws errors of the system. */
export async function makeDirectories(directory: string, mode: number, fsync: boolean): Promise<void> {
  const stat = await fs.promises.stat(directory).catch((error: unknown) => {
    if (!hasErrno(error, 'ENOENT')) throw error;
  });
  if (stat !== undefined) return;
  await makeDirectories(path.dirname(directory), mode, fsync);
  await makeDirectory(directory, mode, fsync);
}

/**
 * Returns the mode to set on a new file or directory from which the umask took rights away. Undefined if it
 * has them all. More rights than wanted stay, as on file systems without modes. So do other bits, such as the
 * one by which a directory passes its group on.
 */
function modeToSet(wanted: number, has: number): number | undefined {
  return (wanted & ~has) === 0 ? undefined : (has | wanted) & ALL_BITS;
}

/** Writes all bytes at a position, with callbacks on bare descriptors, as in `readFully`. */
export async function writeFully(fd: number, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength;) done += await writeOnce(fd, bytes, done, position + done);
}

function writeOnce(fd: number, bytes: Uint8Array, done: number, position: number): Promise<number> {
  const length = Math.min(MOST_AT_ONCE, bytes.byteLength - done);
  return new Promise((resolve, reject) => {
    fs.write(fd, bytes, done, length, position, (error, count) => (error ? reject(error) : resolve(count)));
  });
}

/** Syncs written bytes to the disk itself. */
export function sync(fd: number): Promise<void> {
  return new Promise((resolve, reject) => fs.fsync(fd, (error) => (error ? reject(error) : resolve())));
}

/** Syncs the names in a directory to the disk itself. A directory that is gone has no names to lose. */
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

/** Closes a file. On network file systems a write may fail here. */
export function closeFile(fd: number): Promise<void> {
  return new Promise((resolve, reject) => fs.close(fd, (error) => (error ? reject(error) : resolve())));
}
