import fs from 'node:fs';
import path from 'node:path';
import { hasErrno } from '../errors.js';
import { syncDirectory } from '../write/file-writes.js';
import { modeToSet } from './access.js';

/** The mode of directories that are the driver's alone. */
export const PRIVATE = 0o700;

/** Makes a directory of this mode, whatever the umask is. An existing one stays as it is. */
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

/** As `makeDirectory`, with those above it that are missing. @throws errors of the system. */
export async function makeDirectories(directory: string, mode: number, fsync: boolean): Promise<void> {
  const stat = await fs.promises.stat(directory).catch((error: unknown) => {
    if (!hasErrno(error, 'ENOENT')) throw error;
  });
  if (stat !== undefined) return;
  await makeDirectories(path.dirname(directory), mode, fsync);
  await makeDirectory(directory, mode, fsync);
}
