import { expect } from 'vitest';
import { getEventListeners } from 'node:events';
import {
  InterceptingDriver,
  MemoryDriver,
  type DriverCall,
  type ErrorCode,
  type ObjectStat,
  type OperationOptions,
  type StorageDriver,
} from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';

/** Bytes 0, 1, 2 ... (modulo 256): what is read tells where it was read. */
export function pattern(length: number, first = 0): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (first + index) % 256);
}

/** A memory driver with these objects. */
export async function memoryWith(objects: Readonly<Record<string, Uint8Array>>): Promise<MemoryDriver> {
  const driver = new MemoryDriver();
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

/** Lets everything happen that needs no time: the event loop turns, no clock moves. */
export function settled(): Promise<void> {
  return new ManualClock().advance(0);
}

/** How many listeners wait for the signal to abort. */
export function listenersOn(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length;
}

/** Takes note of how a promise ends; undefined as long as it has not. */
export function outcomeOf<T>(promise: Promise<T>): { value?: T; error?: unknown } {
  const outcome: { value?: T; error?: unknown } = {};
  promise.then(
    (value) => (outcome.value = value),
    (error: unknown) => (outcome.error = error),
  );
  return outcome;
}

interface HeldCall {
  readonly name: string;
  readonly release: (error?: Error) => void;
}

/**
 * Holds every call until the test lets it go, and counts. A held call does not listen to its signal, as a system call
 * that is under way does not.
 */
export class HoldingDriver extends InterceptingDriver {
  /** The calls that wait, as `operation key`, in order of arrival. */
  readonly held: HeldCall[] = [];
  /** Calls that came here, and the most that were here at one time. */
  arrived = 0;
  mostHeld = 0;

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    this.arrived += 1;
    await new Promise<void>((resolve, reject) => {
      const release = (error?: Error) => (error === undefined ? resolve() : reject(error));
      this.held.push({ name: `${call.operation} ${call.key}`, release });
      this.mostHeld = Math.max(this.mostHeld, this.held.length);
    });
    return call.proceed();
  }

  /** Lets the oldest call go, or fail with `error`, and waits until what follows from it has happened. */
  async releaseOldest(error?: Error): Promise<void> {
    const call = this.held.shift();
    expect(call, 'a call is held').toBeDefined();
    call?.release(error);
    await settled();
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
