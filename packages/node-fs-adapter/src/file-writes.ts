import fs from 'node:fs';

/** `write(2)` takes 2 GiB at most; a round number below that. */
const MOST_AT_ONCE = 2 ** 30;

/** For writing and reading, and only if there is no such file yet. */
const NEW_FILE = 'wx+';
const MODE = 0o644;

/** Makes a file. */
export function makeFile(filePath: string): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.open(filePath, NEW_FILE, MODE, (error, fd) => (error ? reject(error) : resolve(fd)));
  });
}

/** As `makeFile`, blocking. */
export function makeFileBlocking(filePath: string): number {
  return fs.openSync(filePath, NEW_FILE, MODE);
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

/** As `writeFully`, blocking; returns how many bytes that were. */
export function writeFullyBlocking(fd: number, bytes: Uint8Array, position: number): number {
  let done = 0;
  while (done < bytes.byteLength)
    done += fs.writeSync(fd, bytes, done, bytes.byteLength - done, position + done);
  return done;
}

/** Bytes of an open file. */
export function sizeOf(fd: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.fstat(fd, (error, stat) => (error ? reject(error) : resolve(stat.size)));
  });
}

/** Puts on the disk itself what was written. */
export function sync(fd: number): Promise<void> {
  return new Promise((resolve, reject) => fs.fsync(fd, (error) => (error ? reject(error) : resolve())));
}

/** Closes; on network file systems this is where a write may fail. */
export function closeFile(fd: number): Promise<void> {
  return new Promise((resolve, reject) => fs.close(fd, (error) => (error ? reject(error) : resolve())));
}
