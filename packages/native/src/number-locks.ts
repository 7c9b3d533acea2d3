import fs from 'node:fs';
import os from 'node:os';
import { promisify } from 'node:util';
import { binding } from './load.js';
import { NativeError, type LockStep } from './outcomes.js';

// Not `fs.promises`, whose handles the garbage collector closes.
const open = promisify(fs.open);
const close = promisify(fs.close);

const { EACCES, EAGAIN, EBADF } = os.constants.errno;
/** Outcomes if another open file holds the lock. */
const REFUSALS: readonly number[] = [-EAGAIN, -EACCES];
/** Only the owner may open the file: a user who can lock it can keep others waiting. */
const MODE = 0o600;

/**
 * Locks of whole numbers between all users that have opened the same file, in this process or another one:
 * locks of one byte of an open file description (`fcntl`, `F_OFD_SETLK`). The kernel keeps them. It releases
 * them when the process ends, however that happens and in whatever container it runs. A locked number may be
 * far beyond the end of the file, which stays empty. No call waits, and each takes about a microsecond.
 *
 * For files of a local file system: on a network each call may be a request.
 */
export class NumberLocks implements AsyncDisposable {
  readonly #path: string;
  #fd: number | undefined;

  private constructor(path: string, fd: number) {
    this.#path = path;
    this.#fd = fd;
  }

  /**
   * Opens the file. Creates it with mode 0600 if it does not exist.
   * @throws errors of `fs.open`; TieredError `TIERED_UNSUPPORTED` where the native part is not available.
   */
  static async open(path: string): Promise<NumberLocks> {
    binding();
    return new NumberLocks(path, await open(path, fs.constants.O_RDWR | fs.constants.O_CREAT, MODE));
  }

  /**
   * Locks a number exclusively. Returns false if another user that has opened the file holds it, exclusively
   * or shared.
   * @param number 0 to `Number.MAX_SAFE_INTEGER`.
   * @throws NativeError of the system, such as `ENOLCK`, and `EBADF` after `close`.
   */
  take(number: number): boolean {
    return this.#lock(number, 2);
  }

  /** Like `take`, but shared: any number of users that have opened the file may hold it this way. */
  share(number: number): boolean {
    return this.#lock(number, 1);
  }

  /** Releases a number, whether it was locked exclusively or shared. @throws as `take`. */
  release(number: number): void {
    this.#checked((fd) => binding().lockNumber(fd, number, 0), 'unlock', number);
  }

  /**
   * Whether another user that has opened the file holds a number, exclusively or shared. @throws as `take`.
   */
  isTaken(number: number): boolean {
    return this.#checked((fd) => binding().isNumberLocked(fd, number), 'lock', number) === 1;
  }

  /** Releases all numbers. Idempotent. */
  async close(): Promise<void> {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd !== undefined) await close(fd);
  }

  /** Calls `close` at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #lock(number: number, how: 1 | 2): boolean {
    const isRefused = (outcome: number) => REFUSALS.includes(outcome);
    return this.#checked((fd) => binding().lockNumber(fd, number, how), 'lock', number, isRefused) === 0;
  }

  #checked(
    call: (fd: number) => number,
    step: LockStep,
    number: number,
    isExpected?: (outcome: number) => boolean,
  ): number {
    const outcome = this.#fd === undefined ? -EBADF : call(this.#fd);
    if (outcome >= 0 || isExpected?.(outcome) === true) return outcome;
    throw new NativeError(outcome, step, `${number} of ${JSON.stringify(this.#path)}`);
  }
}
