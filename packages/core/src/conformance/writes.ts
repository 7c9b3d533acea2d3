import assert from 'node:assert/strict';
import type { StorageDriver } from '../driver/driver.js';
import { assertBytes, assertCode, listKeys, openTest, readAll, type ConformanceTest } from './subject.js';
import { someBytes } from '../testing/some-bytes.js';

/** Tests writing; on a driver that cannot write, that it says so. */
function writeTest(name: string, body: (driver: StorageDriver) => Promise<void>): ConformanceTest {
  return openTest(`${name}, or is refused`, async ({ driver }) => {
    if (driver.capabilities.write) return body(driver);
    await assertCode(driver.write('refused', someBytes(1, 1), { size: 1 }), 'TIERED_UNSUPPORTED');
  });
}

/** Yields bytes in pieces from one buffer that is reused for each. */
async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  const buffer = new Uint8Array(size);
  for (let from = 0; from < bytes.byteLength; from += size) {
    const piece = bytes.subarray(from, from + size);
    buffer.set(piece);
    yield buffer.subarray(0, piece.byteLength);
  }
}

/** Asserts that writes publish nothing, each with the error that it must reject with. */
async function assertUnpublished(
  driver: StorageDriver,
  write: () => Promise<void>,
  fails: RegExp | Error,
): Promise<void> {
  const old = someBytes(500, 1);
  for (const exists of [false, true]) {
    if (exists) await driver.write('object', old, { size: old.byteLength });
    await assert.rejects(write(), (error: unknown) => {
      if (fails instanceof Error) assert.equal(error, fails);
      else assert.match(String((error as { code?: unknown }).code), fails);
      return true;
    });
    if (exists) assertBytes(await readAll(driver, 'object'), old, 'the old object');
    else await assertCode(driver.stat('object', {}), 'TIERED_NOT_FOUND');
    if (driver.capabilities.list) assert.deepEqual(await listKeys(driver), exists ? ['object'] : []);
  }
}

/** Tests of writing and deleting objects. */
export const writes: readonly ConformanceTest[] = [
  writeTest('write() creates and replaces objects of any size', async (driver) => {
    for (const size of [0, 1, 100_000, 3, 0]) {
      const bytes = someBytes(size, size);
      await driver.write('object', bytes, { size });
      assertBytes(await readAll(driver, 'object'), bytes, `object of ${size} bytes`);
    }
  }),
  writeTest(
    'write() takes pieces and parts, and keeps no reference to memory of the caller',
    async (driver) => {
      const bytes = someBytes(10_000, 1);
      await driver.write('pieces', inPieces(bytes, 777), { size: 10_000 });
      assertBytes(await readAll(driver, 'pieces'), bytes, 'object written in pieces');
      const mine = someBytes(1000, 2);
      await driver.write('whole', mine, { size: 1000 });
      mine.fill(0);
      assertBytes(await readAll(driver, 'whole'), someBytes(1000, 2), 'object written at once');
      const parts = [0, 9000, 1, 999].map((size, i) => someBytes(size, i));
      await driver.write('parts', parts, { size: 10_000 });
      assertBytes(await readAll(driver, 'parts'), Buffer.concat(parts), 'object written in parts');
      await driver.write('empty', inPieces(new Uint8Array(), 10), { size: 0 });
      assert.equal((await driver.stat('empty', {})).size, 0);
    },
  ),
  writeTest('write() of more or fewer bytes than announced publishes nothing', async (driver) => {
    const bytes = someBytes(1000, 3);
    for (const size of [0, 999, 1001, 5000]) {
      for (const data of [() => bytes, () => [bytes], () => inPieces(bytes, 300)]) {
        await assertUnpublished(
          driver,
          () => driver.write('object', data(), { size }),
          /^TIERED_SIZE_MISMATCH$/,
        );
        await driver.delete('object', {});
      }
    }
  }),
  writeTest('write() whose pieces fail publishes nothing and fails the same way', async (driver) => {
    const failure = new Error('the pieces failed');
    const failing = async function* () {
      yield someBytes(100, 1);
      throw failure;
    };
    await assertUnpublished(driver, () => driver.write('object', failing(), { size: 200 }), failure);
  }),
  writeTest(
    'write() that is aborted between pieces publishes nothing and rejects with the reason',
    async (driver) => {
      const reason = new Error('no longer wanted');
      const write = () => {
        const controller = new AbortController();
        const pieces = async function* () {
          yield someBytes(100, 1);
          controller.abort(reason);
          yield someBytes(100, 2);
        };
        return driver.write('object', pieces(), { size: 200, signal: controller.signal });
      };
      await assertUnpublished(driver, write, reason);
    },
  ),
  writeTest(
    'write() that is aborted while the next piece does not come ends, publishes nothing and rejects with the reason',
    async (driver) => {
      const reason = new Error('no longer wanted');
      const write = () => {
        const controller = new AbortController();
        const pieces = async function* () {
          yield someBytes(100, 1);
          queueMicrotask(() => controller.abort(reason));
          await new Promise<never>(() => undefined);
        };
        return driver.write('object', pieces(), { size: 200, signal: controller.signal });
      };
      await assertUnpublished(driver, write, reason);
    },
  ),
  writeTest('readers see whole objects while writers replace them', async (driver) => {
    const versions = [someBytes(30_000, 1), someBytes(30_000, 2), someBytes(30_000, 3)];
    const write = (bytes: Uint8Array) => driver.write('object', bytes, { size: bytes.byteLength });
    await write(versions[0] ?? new Uint8Array());
    const read = async () => {
      const got = await driver.read('object', { offset: 0, length: 30_000 });
      assert.ok(
        versions.some((bytes) => Buffer.compare(bytes, got) === 0),
        'a reader saw a mixture',
      );
    };
    for (let round = 0; round < 5; round++)
      await Promise.all([...versions.map(write), read(), read(), read(), read()]);
    await read();
  }),
  writeTest('write() with ifAbsent replaces nothing: of several at once, one succeeds', async (driver) => {
    // Large enough for their pieces to interleave.
    const versions = Array.from({ length: 8 }, (_, i) => someBytes(20_000 + i, i));
    const write = (bytes: Uint8Array) =>
      driver.write('dir/object', inPieces(bytes, 7_000), { size: bytes.byteLength, ifAbsent: true });
    for (let round = 0; round < 5; round++) {
      const outcomes = await Promise.allSettled(versions.map(write));
      const failures = outcomes.filter((outcome) => outcome.status === 'rejected');
      if (failures.length === versions.length) {
        for (const { reason } of failures) await assertCode(Promise.reject(reason), 'TIERED_UNSUPPORTED');
        return assertCode(driver.stat('dir/object', {}), 'TIERED_NOT_FOUND');
      }
      assert.equal(failures.length, versions.length - 1, 'writes that failed');
      for (const { reason } of failures) await assertCode(Promise.reject(reason), 'TIERED_EXISTS');
      const written = versions[outcomes.findIndex(({ status }) => status === 'fulfilled')];
      assertBytes(await readAll(driver, 'dir/object'), written ?? new Uint8Array(), 'what was written');
      await assertCode(write(someBytes(10, 1)), 'TIERED_EXISTS');
      assertBytes(await readAll(driver, 'dir/object'), written ?? new Uint8Array(), 'what was there');
      await driver.delete('dir/object', {});
    }
    await write(someBytes(10, 1));
    await driver.write('dir/object', someBytes(20, 2), { size: 20, ifAbsent: false });
    assertBytes(await readAll(driver, 'dir/object'), someBytes(20, 2), 'what took its place');
  }),
  openTest(
    'delete() removes an object, and a missing one is no error, or is refused',
    async ({ driver, put }) => {
      if (!driver.capabilities.delete) return assertCode(driver.delete('object', {}), 'TIERED_UNSUPPORTED');
      await put('dir/object', someBytes(10, 1));
      await readAll(driver, 'dir/object');
      await driver.delete('dir/object', {});
      await assertCode(driver.stat('dir/object', {}), 'TIERED_NOT_FOUND');
      await assertCode(driver.read('dir/object', { offset: 0, length: 1 }), 'TIERED_NOT_FOUND');
      await driver.delete('dir/object', {});
      await put('dir/object', someBytes(20, 2));
      assertBytes(await readAll(driver, 'dir/object'), someBytes(20, 2), 'the object made again');
    },
  ),
];
