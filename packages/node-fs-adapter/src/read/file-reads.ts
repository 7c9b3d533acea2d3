import fs from 'node:fs';
import { closeFile } from '../write/file-writes.js';
import { MOST_AT_ONCE, OPEN_FLAGS } from './thread/file-calls.js';

/** The properties of a file that a read looks at. */
export type FileLook = Pick<fs.BigIntStats, 'isFile' | 'mtimeNs' | 'size' | 'ino' | 'nlink'>;

/** The calls that reads are made of, whichever threads make them. */
export interface ReadCalls {
  /** As `openForReading`. */
  open(filePath: string): Promise<number>;
  /**
   * Resolves to the number of bytes that one call brought: possibly fewer than the target holds, and 0 only
   * at the end of the file.
   */
  read(fd: number, target: Uint8Array, position: number): Promise<number>;
  /** What an open descriptor is. */
  stat(fd: number): Promise<FileLook>;
  /** Closes a descriptor. */
  close(fd: number): Promise<void>;
}

/** Opens a file for reading, without waiting for anything but the disk. */
function openForReading(filePath: string): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.open(filePath, OPEN_FLAGS, (error, fd) => (error ? reject(error) : resolve(fd)));
  });
}

/** As `openForReading`, blocking. */
export function openForReadingBlocking(filePath: string): number {
  return fs.openSync(filePath, OPEN_FLAGS);
}

/** What an open descriptor is, with times to the nanosecond. */
export function statOf(fd: number): Promise<fs.BigIntStats> {
  return new Promise((resolve, reject) => {
    fs.fstat(fd, { bigint: true }, (error, stat) => (error ? reject(error) : resolve(stat)));
  });
}

/** The calls as Node's thread pool makes them. */
export const nodeCalls: ReadCalls = { open: openForReading, read: readOnce, stat: statOf, close: closeFile };

/**
 * Fills the target from a position; resolves to the bytes read, fewer only at the end of the file. The size,
 * if it is known, saves the read that finds the end; `Infinity` if it is not.
 *
 * It uses callbacks on bare descriptors: `FileHandle.read` does the same work and takes up to twice the time
 * per call.
 */
export async function readFully(
  { fd, size }: { readonly fd: number; readonly size: number },
  target: Uint8Array,
  position: number,
  calls = nodeCalls,
): Promise<number> {
  let filled = 0;
  while (filled < target.byteLength) {
    const rest = filled === 0 ? target : target.subarray(filled);
    const count = await calls.read(fd, rest, position + filled);
    filled += count;
    // A read that ends where the file ends needs no second read to find the end.
    if (count === 0 || position + filled >= size) break;
  }
  return filled;
}

function readOnce(fd: number, target: Uint8Array, position: number): Promise<number> {
  const length = Math.min(MOST_AT_ONCE, target.byteLength);
  return new Promise((resolve, reject) => {
    fs.read(fd, target, 0, length, position, (error, count) => (error ? reject(error) : resolve(count)));
  });
}
