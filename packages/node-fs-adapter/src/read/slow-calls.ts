import type { Clock } from '@tiered/core';
import { CallThreads, type Scratch } from './call-threads.js';
import { nodeCalls, type FileLook, type ReadCalls } from './file-reads.js';
import type { Answer, Call, Look } from './thread/calls.js';
import { MOST_AT_ONCE } from './thread/file-calls.js';
import { Slowness } from './slowness.js';
import { PIECE } from './sizes.js';

/** A call, by either kind of threads. */
interface Ways<T> {
  /** The most bytes that it moves. */
  readonly bytes: number;
  readonly byNode: () => Promise<T>;
  /** After a worker that has ended and may have made it. Default: `byNode`. */
  readonly again?: (() => Promise<T>) | undefined;
  readonly byWorker: (scratch: Scratch) => Call;
  /** Turns the answer of a worker into the result. */
  readonly taken: (value: number | Look, scratch: Scratch) => T;
}

/**
 * Makes the calls of reads by Node's thread pool, and by worker threads as soon as reads of slow storage wait
 * for one of the pool's few threads. Workers are started one at a time, as long as calls are seen to wait. A
 * free worker makes the next call, so that Node's pool is left to others. When there are as many workers as
 * allowed, calls wait for them.
 */
export class SlowCalls implements ReadCalls {
  readonly #threads: CallThreads;
  readonly #slowness: Slowness;

  /**
   * @param clock Times the calls.
   * @param most The most worker threads.
   */
  constructor(clock: Clock, most: number) {
    const threads = new CallThreads(clock, most);
    this.#threads = threads;
    this.#slowness = new Slowness(clock, {
      count: () => threads.count,
      tooFew: () => threads.startOne(),
    });
  }

  /** Allows workers to start. */
  begin(): void {
    this.#threads.open();
  }

  /** Ends the workers. Calls that are made meanwhile, because a read is under way, are made all the same. */
  end(): Promise<void> {
    return this.#threads.close();
  }

  open(filePath: string): Promise<number> {
    return this.#make({
      bytes: 0,
      byNode: () => nodeCalls.open(filePath),
      byWorker: () => ({ name: 'open', path: filePath }),
      taken: Number,
    });
  }

  read(fd: number, target: Uint8Array, position: number): Promise<number> {
    const { buffer, byteOffset, byteLength } = target;
    if (buffer instanceof SharedArrayBuffer) {
      const length = Math.min(MOST_AT_ONCE, byteLength);
      return this.#make({
        bytes: length,
        byNode: () => nodeCalls.read(fd, target, position),
        byWorker: () => ({ name: 'read', fd, memory: buffer, at: byteOffset, length, position }),
        taken: Number,
      });
    }
    const length = Math.min(PIECE, byteLength);
    return this.#make({
      bytes: length,
      byNode: () => nodeCalls.read(fd, target, position),
      byWorker: (scratch) => ({
        name: 'read',
        fd,
        memory: scratch.ofLength(length),
        at: 0,
        length,
        position,
      }),
      taken: (count, scratch) => {
        target.set(new Uint8Array(scratch.ofLength(length), 0, Number(count)));
        return Number(count);
      },
    });
  }

  stat(fd: number): Promise<FileLook> {
    return this.#make<FileLook>({
      bytes: 0,
      byNode: () => nodeCalls.stat(fd),
      byWorker: () => ({ name: 'stat', fd }),
      taken: (look) => {
        const { isFile, ...rest } = look as Look;
        return { ...rest, isFile: () => isFile };
      },
    });
  }

  close(fd: number): Promise<void> {
    return this.#make({
      bytes: 0,
      byNode: () => nodeCalls.close(fd),
      // The number may be another file's by now.
      again: async () => undefined,
      byWorker: () => ({ name: 'close', fd }),
      taken: () => undefined,
    });
  }

  async #make<T>(ways: Ways<T>): Promise<T> {
    const begun = this.#slowness.began(ways.bytes);
    const inWorker = this.#slowness.isSeen && this.#threads.areReady;
    try {
      return await (inWorker ? this.#byWorker(ways) : ways.byNode());
    } finally {
      this.#slowness.ended(begun, inWorker);
    }
  }

  #byWorker<T>({ byNode, again = byNode, byWorker, taken }: Ways<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#threads.make({
        call: byWorker,
        done: (answer, scratch) => {
          try {
            resolve(taken(valueOf(answer), scratch));
          } catch (error) {
            reject(error);
          }
        },
        lost: () => resolve(again()),
      });
    });
  }
}

/** @throws the error of `node:fs` that was thrown in a worker. */
function valueOf(answer: Answer): number | Look {
  if ('value' in answer) return answer.value;
  const { message, ...rest } = answer.error;
  throw Object.assign(new Error(message), rest);
}
