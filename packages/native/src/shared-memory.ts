import fs from 'node:fs';
import { markAsUntransferable } from 'node:worker_threads';
import { binding } from './load.js';
import { NativeError, type MemoryStep } from './outcomes.js';

/** The most bytes that two processes share: 1 GiB. More is a mistake. */
export const MOST_SHARED_BYTES = 2 ** 30;

/**
 * Memory that two processes have mapped, of a fixed length that neither can change (`memfd_create` with
 * seals). Both read and write it, in no promised order. They must agree by other means on the bytes that each
 * may touch.
 *
 * Created by `give` in one process, for one `MemoryRequest` of another. No descriptor stays open, so the
 * memory is freed when the last of the two ends, even if they are killed. The system allocates its pages when
 * they are first touched.
 */
export class SharedMemory {
  /** All of it. Cannot be transferred to a thread. */
  readonly buffer: ArrayBuffer;

  private constructor(buffer: ArrayBuffer) {
    markAsUntransferable(buffer);
    this.buffer = buffer;
  }

  /**
   * Creates memory, and sends it, with one byte, to the other end of a connected UNIX domain socket. Does not
   * wait, and costs some 20 us.
   * @param socket A descriptor. No other code may be writing to it.
   * @param bytes 1 to `MOST_SHARED_BYTES`.
   * @throws NativeError of the system; TieredError `TIERED_UNSUPPORTED` where the native part is not
   * available.
   */
  static give(socket: number, bytes: number): SharedMemory {
    const functions = binding();
    const fd = checked(functions.makeMemory(bytes), 'make', `${bytes} bytes of shared memory`);
    try {
      checked(functions.giveDescriptor(socket, fd), 'give', `shared memory to socket ${socket}`);
      return SharedMemory.map(fd, bytes);
    } finally {
      fs.closeSync(fd);
    }
  }

  /**
   * @internal Maps the memory of a descriptor. @throws NativeError, with code `EINVAL` if the other side
   * could take it away again.
   */
  static map(fd: number, bytes: number): SharedMemory {
    const buffer = binding().mapMemory(fd, bytes);
    if (typeof buffer !== 'number') return new SharedMemory(buffer);
    throw new NativeError(buffer, 'map', `${bytes} bytes of shared memory`);
  }

  /** Returns its pages to the system. The memory stays mapped, and both processes then read zeros. */
  empty(): void {
    binding().emptyMemory(this.buffer);
  }

  /**
   * Unmaps it in this process at once. After that the buffer and all views have no bytes. Without this call
   * the garbage collector unmaps it.
   */
  detach(): void {
    binding().detachMemory(this.buffer);
  }
}

/** A connection by which a process asks another one for memory. The other one calls `SharedMemory.give`. */
export class MemoryRequest implements Disposable {
  /** The user of the process that listens at the other end. */
  readonly user: number;
  #socket: number | undefined;

  /**
   * Connects, and sends the greeting. Does not wait: `EAGAIN` if too many others connect.
   * @param path Path of a UNIX domain socket.
   * @param greeting Tells the other side the purpose. A few KB at most.
   * @throws NativeError of the system; TieredError `TIERED_UNSUPPORTED` where the native part is not
   * available.
   */
  constructor(path: string, greeting: Uint8Array) {
    const functions = binding();
    this.#socket = checked(functions.connectTo(path, greeting), 'connect', `to ${JSON.stringify(path)}`);
    try {
      this.user = checked(functions.userBehind(this.#socket), 'connect', `to ${JSON.stringify(path)}`);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * Maps the memory that was sent. Does not wait.
   * @param bytes The length that the memory must have.
   * @throws NativeError: `EAGAIN` if nothing has arrived yet, `EPROTO` if something other than memory has
   * arrived, `EINVAL` if it has another length, or if the other side could take it away again.
   */
  receive(bytes: number): SharedMemory {
    const fd = checked(binding().takeDescriptor(this.#socket ?? -1), 'receive', 'shared memory');
    try {
      return SharedMemory.map(fd, bytes);
    } finally {
      fs.closeSync(fd);
    }
  }

  /** Idempotent. Memory that was received stays. */
  close(): void {
    if (this.#socket !== undefined) fs.closeSync(this.#socket);
    this.#socket = undefined;
  }

  /** Calls `close` at the end of a `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}

function checked(outcome: number, step: MemoryStep, what: string): number {
  if (outcome < 0) throw new NativeError(outcome, step, what);
  return outcome;
}
