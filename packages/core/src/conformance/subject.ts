import assert from 'node:assert/strict';
import type { StorageDriver } from '../driver/driver.js';
import { isTieredError, type ErrorCode } from '../support/errors.js';

/** A driver under test and its surroundings. Made anew for every test. */
export interface ConformanceSubject {
  /** Closed, on empty storage. */
  readonly driver: StorageDriver;
  /** Creates or replaces an object without the driver; for drivers that cannot write. */
  readonly put?: ((key: string, bytes: Uint8Array) => Promise<void>) | undefined;
  /** Resources that the driver holds open, such as descriptors and sockets. Must be 0 after close. */
  readonly openResources?: (() => number) | undefined;
  /** Removes the storage. */
  readonly cleanUp?: (() => Promise<void>) | undefined;
}

/** The environment of a test: the open driver, and a way to put objects into it. */
export interface OpenSubject {
  readonly driver: StorageDriver;
  readonly put: (key: string, bytes: Uint8Array) => Promise<void>;
}

/** A named test. */
export interface ConformanceTest {
  readonly name: string;
  readonly run: (subject: ConformanceSubject) => Promise<void>;
}

/** A test on an open driver, which is closed afterwards, and must then hold no resources. */
export function openTest(name: string, body: (subject: OpenSubject) => Promise<void>): ConformanceTest {
  return {
    name,
    run: async (subject) => {
      await subject.driver.open({});
      try {
        await body({ driver: subject.driver, put: putter(subject) });
      } finally {
        await subject.driver.close();
      }
      assert.equal(subject.openResources?.() ?? 0, 0, 'the driver holds resources after close()');
    },
  };
}

/** Returns the way to put objects into the storage: the subject's own `put`, or the driver's `write`. */
export function putter(subject: ConformanceSubject): (key: string, bytes: Uint8Array) => Promise<void> {
  const { driver, put } = subject;
  if (put !== undefined) return put;
  assert.ok(driver.capabilities.write, 'a driver that cannot write needs a subject with put()');
  return (key, bytes) => driver.write(key, bytes, { size: bytes.byteLength });
}

/** Asserts that two byte strings are equal, without printing them. */
export function assertBytes(actual: Uint8Array, expected: Uint8Array, what: string): void {
  assert.equal(actual.byteLength, expected.byteLength, `${what}: number of bytes`);
  assert.equal(Buffer.compare(actual, expected), 0, `${what}: the bytes differ`);
}

/** Asserts that a promise rejects with a `TieredError` of this code. */
export async function assertCode(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await assert.rejects(promise, (error: unknown) => {
    assert.ok(isTieredError(error, code), `expected ${code}, got ${String(error)}`);
    return true;
  });
}

/** Reads a whole object. */
export async function readAll(driver: StorageDriver, key: string): Promise<Uint8Array> {
  const { size } = await driver.stat(key, {});
  return driver.read(key, { offset: 0, length: size });
}

/** Every key of a listing, sorted. */
export async function listKeys(
  driver: StorageDriver,
  prefix?: string,
  signal?: AbortSignal,
): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of driver.list({ prefix, signal })) keys.push(...page.map(({ key }) => key));
  return keys.sort();
}
