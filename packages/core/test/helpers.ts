import { expect } from 'vitest';
import {
  MemoryDriver,
  type ErrorCode,
  type ListOptions,
  type ObjectStat,
  type OperationOptions,
  type StorageDriver,
} from '@tiered/core';
import { InterceptingDriver, type DriverCall, type Operation } from '@tiered/core/driver';
import { IndexedMemoryDriver, ManualClock } from '@tiered/core/testing';

export { listenersOn, outcomeOf } from '@tiered/core/testing';

/** Bytes 0, 1, 2 ... (modulo 256): what is read tells where it was read. */
export function pattern(length: number, first = 0): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (first + index) % 256);
}

/** A memory driver with these objects. */
export async function memoryWith(objects: Readonly<Record<string, Uint8Array>>): Promise<MemoryDriver> {
  const driver = new IndexedMemoryDriver();
  for (const [key, bytes] of Object.entries(objects)) {
    await driver.write(key, bytes, { size: bytes.byteLength });
  }
  return driver;
}

/** Every object that `list` gives, in its order. */
export async function listed(driver: StorageDriver, prefix?: string): Promise<ObjectStat[]> {
  const objects: ObjectStat[] = [];
  for await (const page of driver.list({ prefix })) objects.push(...page);
  return objects;
}

/** The pieces as they would come from a stream: once. */
export async function* onlyOnce(...pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

/** For `expect(() => ...).toThrow(...)` and `rejects.toEqual(...)`: an error with this code. */
export function withCode(code: ErrorCode): Error {
  return expect.objectContaining({ code }) as Error;
}

/** Lets every call pass, and notes which came, at what time, and how many listings were begun and ended. */
export class NotingDriver extends InterceptingDriver {
  readonly calls: Operation[] = [];
  readonly times: number[] = [];
  listsBegun = 0;
  listsEnded = 0;

  readonly clock: ManualClock;

  constructor(inner: StorageDriver, clock = new ManualClock()) {
    super(inner);
    this.clock = clock;
  }

  override async *list(options: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    this.listsBegun += 1;
    try {
      yield* super.list(options);
    } finally {
      this.listsEnded += 1;
    }
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    this.calls.push(call.operation);
    this.times.push(this.clock.now());
    return call.proceed();
  }
}

/** Reads the first `length` bytes: the shortest call of a driver. */
export function readFrom(
  driver: StorageDriver,
  key: string,
  length: number,
  options: OperationOptions = {},
): Promise<Uint8Array> {
  return driver.read(key, { offset: 0, length, ...options });
}
