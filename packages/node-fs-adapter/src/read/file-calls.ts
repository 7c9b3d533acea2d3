import fs from 'node:fs';

const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = fs.constants;

/**
 * Opening must not wait for the writer of a FIFO, nor take over a terminal. Windows has no such flags. They
 * are undefined there, and 0 to `|`.
 */
const OPEN_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY;

/** `read(2)` takes 2 GiB at most. This is a round number below that. */
const MOST_AT_ONCE = 2 ** 30;

/**
 * The most memory for a read without a version before the file's size is checked: the largest chunk of a
 * fill.
 */
export const MOST_UNSEEN = 16_777_216;

/**
 * Bytes per call of a read made of several calls, because it may be left behind or reports progress. One
 * request of NFS brings as many.
 */
export const PIECE = 1_048_576;

/** A file being read. Its size is `Infinity` if unknown. */
export interface SizedFile {
  readonly fd: number;
  readonly size: number;
}

/** Opens a file for reading, without waiting for anything but the disk. */
export function openForReading(filePath: string): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.open(filePath, OPEN_FLAGS, (error, fd) => (error ? reject(error) : resolve(fd)));
  });
}

/** Like `openForReading`, blocking. */
export function openForReadingBlocking(filePath: string): number {
  return fs.openSync(filePath, OPEN_FLAGS);
}

/** Describes an open descriptor, with times to the nanosecond. */
export function statOf(fd: number): Promise<fs.BigIntStats> {
  return new Promise((resolve, reject) => {
    fs.fstat(fd, { bigint: true }, (error, stat) => (error ? reject(error) : resolve(stat)));
  });
}

/**
 * Fills the target from a position. Resolves to the bytes read, fewer only at the end of the file. A known
 * size saves the read that finds the end.
 *
 * It uses callbacks on bare descriptors: `FileHandle.read` does the same work and takes up to twice the time
 * per call.
 */
export async function readFully(
  { fd, size }: SizedFile,
  target: Uint8Array,
  position: number,
): Promise<number> {
  let filled = 0;
  while (filled < target.byteLength) {
    const count = await readOnce(fd, target, filled, position + filled);
    filled += count;
    // A read that ends at the end of the file needs no second read to find it.
    if (count === 0 || position + filled >= size) break;
  }
  return filled;
}

/** Like `readFully`, blocking. */
export function readFullyBlocking({ fd, size }: SizedFile, target: Uint8Array, position: number): number {
  let filled = 0;
  while (filled < target.byteLength) {
    const length = Math.min(MOST_AT_ONCE, target.byteLength - filled);
    const count = fs.readSync(fd, target, filled, length, position + filled);
    filled += count;
    if (count === 0 || position + filled >= size) break;
  }
  return filled;
}

function readOnce(fd: number, target: Uint8Array, filled: number, position: number): Promise<number> {
  const length = Math.min(MOST_AT_ONCE, target.byteLength - filled);
  return new Promise((resolve, reject) => {
    fs.read(fd, target, filled, length, position, (error, count) => (error ? reject(error) : resolve(count)));
  });
}
