import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { turn, type Place } from './helpers.js';

/**
 * System calls on files of certain names that hang: in the kernel, in a thread of Node's pool, until they are
 * released.
 */
export interface Hanging {
  /** Calls that hang now. */
  readonly count: number;
  /** Resolves when so many hang. */
  reached(count: number): Promise<void>;
  /** Lets all of them end, and makes no other hang. Bytes that were read are `late`. */
  release(): Promise<void>;
}

/** What a read that hung brings in the end. */
const LATE = 0x4c;

type Callback = (error: NodeJS.ErrnoException | null, count: number) => void;

/**
 * Makes reads of, or writes to, files whose names end in `hangs` wait for a pipe that nobody writes to, as
 * they would wait for a dead disk.
 */
export function hang({ directory }: Place, call: 'read' | 'write'): Hanging {
  const fifo = path.join(directory, 'never');
  execFileSync('mkfifo', [fifo]);
  // Both ends, so that opening does not wait.
  const pipe = fs.openSync(fifo, fs.constants.O_RDWR);
  const { read, write } = fs;
  let [count, isOver] = [0, false];
  const concerns = (fd: number) =>
    !isOver && /hangs$|\.tiered\/tmp\//.test(fs.readlinkSync(`/proc/self/fd/${fd}`));
  const blocked = (bytes: Uint8Array, at: number, length: number, done: Callback) => {
    count += 1;
    read(pipe, bytes, at, length, null, (error, got) => {
      count -= 1;
      done(error, got);
    });
  };
  if (call === 'read') {
    fs.read = ((fd: number, bytes: Uint8Array, at: number, length: number, from: number, done: Callback) => {
      if (concerns(fd)) blocked(bytes, at, length, done);
      else read(fd, bytes, at, length, from, done);
    }) as typeof fs.read;
  } else {
    fs.write = ((fd: number, bytes: Uint8Array, at: number, length: number, to: number, done: Callback) => {
      if (concerns(fd)) blocked(new Uint8Array(1), 0, 1, () => write(fd, bytes, at, length, to, done));
      else write(fd, bytes, at, length, to, done);
    }) as typeof fs.write;
  }
  const hanging: Hanging = {
    get count() {
      return count;
    },
    reached: async (enough) => {
      while (count < enough) await turn();
    },
    release: async () => {
      isOver = true;
      while (count > 0) {
        fs.writeSync(pipe, new Uint8Array(1).fill(LATE));
        const before = count;
        while (count === before) await turn();
      }
    },
  };
  onTestFinished(async () => {
    await hanging.release();
    Object.assign(fs, { read, write });
    fs.closeSync(pipe);
  });
  return hanging;
}
