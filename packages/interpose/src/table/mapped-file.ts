import { formatBytes, TieredError } from '@tiered/core';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const PART_BYTES = 2 ** 20;
const append = promisify(fs.writeFile);

/**
 * Makes a file that programs map, and opens it for reading and writing. A file at its path is removed.
 *
 * All of it is written, so that its memory is there from the start: a program that looks into a hole dies
 * where there is no room left to fill it, and others fill `/dev/shm` too.
 * @param head What it begins with.
 * @param bytes Its length; the rest is zeros.
 * @throws TieredError `TIERED_NO_SPACE`; errors of the system.
 */
export async function makeMapped(file: string, head: Uint8Array, bytes: number): Promise<number> {
  fs.rmSync(file, { force: true });
  const fd = fs.openSync(file, 'wx+', 0o600);
  try {
    await append(fd, head);
    const zeros = Buffer.alloc(Math.min(PART_BYTES, bytes));
    for (let at = head.byteLength; at < bytes; at += PART_BYTES)
      await append(fd, zeros.subarray(0, Math.min(PART_BYTES, bytes - at)));
    return fd;
  } catch (error) {
    fs.closeSync(fd);
    fs.rmSync(file, { force: true });
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    const message =
      `The table of the objects takes ${formatBytes(bytes)}, for which there is no room in ${path.dirname(file)}; ` +
      'make room there, or name another directory.';
    throw new TieredError('TIERED_NO_SPACE', message, { cause: error });
  }
}
