import { InterceptingDriver, type DriverCall } from '../decorators/intercepting-driver.js';
import type { Operation, StorageDriver } from '../driver/driver.js';
import { settled } from './manual-clock.js';

/** A call that waits for its release. */
export interface HeldCall {
  readonly operation: Operation;
  readonly key: string;
  /** Lets the call reach the driver, or makes it fail with `error` instead. */
  readonly release: (error?: Error) => void;
}

/** Options of `HoldingDriver`. */
export interface HoldingDriverOptions {
  /** Operations that are held; the others pass. Default: all. */
  readonly operations?: readonly Operation[] | undefined;
}

/**
 * Holds calls until a test releases them, so that a test can produce every interleaving without a sleep. A
 * held call does not listen to its signal, just as a system call in flight does not. The driver checks the
 * signal afterwards.
 */
export class HoldingDriver extends InterceptingDriver {
  /** The calls that wait, in order of arrival. */
  readonly held: HeldCall[] = [];
  readonly #operations: readonly Operation[] | undefined;

  constructor(inner: StorageDriver, { operations }: HoldingDriverOptions = {}) {
    super(inner);
    this.#operations = operations;
  }

  /**
   * Releases a held call, the oldest by default, or fails it with `error`, and waits until its consequences
   * have happened.
   */
  async release({
    index = 0,
    error,
  }: { readonly index?: number; readonly error?: Error } = {}): Promise<void> {
    const [call] = this.held.splice(index, 1);
    if (call === undefined) throw new Error(`HoldingDriver: no call is held at ${index}.`);
    call.release(error);
    await settled();
  }

  /** Releases all held calls, and those that follow from them. */
  async releaseAll(): Promise<void> {
    await settled();
    while (this.held.length > 0) await this.release();
  }

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    if (this.#operations?.includes(call.operation) === false) return call.proceed();
    await new Promise<void>((resolve, reject) => {
      const release = (error?: Error) => (error === undefined ? resolve() : reject(error));
      this.held.push({ operation: call.operation, key: call.key, release });
    });
    return call.proceed();
  }
}
