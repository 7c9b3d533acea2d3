import assert from 'node:assert/strict';
import type { ObjectWriter, StorageDriver } from '../driver/driver.js';
import { assertBytes, assertCode, listKeys, openTest, readAll, type ConformanceTest } from './subject.js';
import { someBytes } from '../testing/some-bytes.js';

/** Tests objects written in parts; on a driver that cannot write, that it says so. */
function writerTest(name: string, body: (driver: StorageDriver) => Promise<void>): ConformanceTest {
  return openTest(`${name}, or is refused`, async ({ driver }) => {
    if (driver.capabilities.write) return body(driver);
    await assertCode(driver.create('refused', { size: 1 }), 'TIERED_UNSUPPORTED');
  });
}

/** Writes all bytes in so many parts, the last one first, all concurrently. */
async function writeParts(writer: ObjectWriter, bytes: Uint8Array, parts: number): Promise<void> {
  const step = Math.max(1, Math.ceil(bytes.byteLength / parts));
  const offsets = Array.from({ length: parts }, (_, i) => i * step).filter(
    (offset) => offset < bytes.byteLength,
  );
  await Promise.all(
    offsets.reverse().map((offset) => writer.writeAt(bytes.subarray(offset, offset + step), { offset })),
  );
}

/** Asserts that the driver has nothing under any key. */
async function assertEmpty(driver: StorageDriver, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await assertCode(driver.stat(key, {}), 'TIERED_NOT_FOUND');
  if (driver.capabilities.list) assert.deepEqual(await listKeys(driver), []);
}

/** Tests of objects written in parts. */
export const writers: readonly ConformanceTest[] = [
  writerTest('create() makes objects of any size of parts in any order', async (driver) => {
    for (const [size, parts] of [
      [0, 1],
      [1, 1],
      [1000, 7],
      [600_000, 3],
    ] as const) {
      const bytes = someBytes(size, size);
      const writer = await driver.create(`dir/${size}`, { size });
      await writeParts(writer, bytes, parts);
      await writer.publish({});
      assertBytes(await readAll(driver, `dir/${size}`), bytes, `object of ${size} bytes in ${parts} parts`);
    }
  }),
  writerTest('what is written can be read back, and is nobody else’s before publish()', async (driver) => {
    const bytes = someBytes(1000, 1);
    const writer = await driver.create('object', { size: 1000 });
    const mine = bytes.slice(500);
    await writer.writeAt(mine, { offset: 500 });
    mine.fill(0);
    const target = new Uint8Array(300);
    assert.equal(await writer.readInto(target, { offset: 600 }), 300);
    assertBytes(target, bytes.subarray(600, 900), 'a part read back');
    await assertEmpty(driver, 'object');
    await writer.writeAt(bytes.subarray(0, 500), { offset: 0 });
    assert.equal(await writer.readInto(target, { offset: 800 }), 200, 'bytes up to the end');
    await assertEmpty(driver, 'object');
    await writer.publish({});
    assertBytes(await readAll(driver, 'object'), bytes, 'the object');
  }),
  writerTest('publish() replaces an object, whose readers have the old one until then', async (driver) => {
    const [old, new1] = [someBytes(2000, 1), someBytes(3000, 2)];
    await driver.write('object', old, { size: 2000 });
    const before = await driver.stat('object', {});
    const writer = await driver.create('object', { size: 3000 });
    await writeParts(writer, new1, 2);
    assertBytes(await readAll(driver, 'object'), old, 'before publish()');
    await writer.publish({});
    assertBytes(await readAll(driver, 'object'), new1, 'after publish()');
    assert.notEqual((await driver.stat('object', {})).version, before.version);
  }),
  writerTest('discard() leaves nothing, any number of times, and nothing undone', async (driver) => {
    const unwritten = await driver.create('dir/a', { size: 10 });
    const begun = await driver.create('dir/b', { size: 10 });
    await begun.writeAt(someBytes(5, 1), { offset: 5 });
    for (const writer of [unwritten, begun, begun]) await writer.discard();
    await assertEmpty(driver, 'dir/a', 'dir/b');
    const published = await driver.create('dir', { size: 3 });
    await published.writeAt(someBytes(3, 2), { offset: 0 });
    await published.publish({});
    await published.discard();
    assertBytes(await readAll(driver, 'dir'), someBytes(3, 2), 'published before discard()');
  }),
  writerTest(
    'writers do not meet, not even under one key: what is published last is there',
    async (driver) => {
      const versions = [someBytes(5000, 1), someBytes(6000, 2), someBytes(7000, 3), someBytes(8000, 4)];
      const all = await Promise.all(
        versions.map(async (bytes) => {
          const writer = await driver.create('object', { size: bytes.byteLength });
          await writeParts(writer, bytes, 3);
          return writer;
        }),
      );
      for (const i of [2, 0, 1]) {
        await all[i]?.publish({});
        assertBytes(await readAll(driver, 'object'), versions[i] ?? new Uint8Array(), `version ${i}`);
      }
      await all[3]?.discard();
      assertBytes(await readAll(driver, 'object'), versions[1] ?? new Uint8Array(), 'after discard()');
    },
  ),
  writerTest(
    'a writer under an aborted signal rejects with its reason and publishes nothing',
    async (driver) => {
      const reason = new Error('no longer wanted');
      const signal = AbortSignal.abort(reason);
      await assert.rejects(driver.create('object', { size: 1, signal }), reason);
      const writer = await driver.create('object', { size: 1 });
      await assert.rejects(writer.writeAt(someBytes(1, 1), { offset: 0, signal }), reason);
      await writer.writeAt(someBytes(1, 1), { offset: 0 });
      await assert.rejects(writer.readInto(new Uint8Array(1), { offset: 0, signal }), reason);
      await assert.rejects(writer.publish({ signal }), reason);
      await writer.discard();
      await assertEmpty(driver, 'object');
    },
  ),
  writerTest('the signal of create() ends with it: an abort afterwards stops nothing', async (driver) => {
    const controller = new AbortController();
    const writer = await driver.create('object', { size: 4, signal: controller.signal });
    controller.abort(new Error('only the making was meant'));
    await writer.writeAt(someBytes(4, 1), { offset: 0 });
    await writer.publish({});
    assertBytes(await readAll(driver, 'object'), someBytes(4, 1), 'the object');
  }),
];
