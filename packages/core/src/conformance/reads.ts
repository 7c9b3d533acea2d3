import assert from 'node:assert/strict';
import { isTieredError, type ErrorCode } from '../support/errors.js';
import { Random } from '../support/random.js';
import { assertBytes, assertCode, openTest, readAll, type ConformanceTest } from './subject.js';
import { someBytes } from '../testing/some-bytes.js';

/** Keys that storage systems tend to get wrong. */
const UNUSUAL_KEYS = [
  'plain',
  'with space',
  'a+b%20c',
  'q?x=1&y#z',
  'übergröße/日本語.jpg',
  'quo\'te"s',
  `${'d/'.repeat(20)}deep`,
  'x'.repeat(200),
];

/** Asserts that a read returns these bytes, or rejects with a `TieredError` of this code. */
async function assertBytesOrCode(
  read: Promise<Uint8Array>,
  bytes: Uint8Array,
  code: ErrorCode,
): Promise<void> {
  try {
    assertBytes(await read, bytes, 'the bytes that were asked for');
  } catch (error) {
    if (!isTieredError(error, code)) throw error;
  }
}

/** Tests of reading and describing objects. */
export const reads: readonly ConformanceTest[] = [
  openTest(
    'stat() gives key, size and a version that stays as long as the content',
    async ({ driver, put }) => {
      await put('object', someBytes(1234, 1));
      const first = await driver.stat('object', {});
      assert.deepEqual({ key: first.key, size: first.size }, { key: 'object', size: 1234 });
      assert.equal((await driver.stat('object', {})).version, first.version);
      await put('object', someBytes(1235, 2));
      const second = await driver.stat('object', {});
      assert.notEqual(second.version, first.version, 'the version did not change with the content');
    },
  ),
  openTest('an object that is missing is TIERED_NOT_FOUND', async ({ driver }) => {
    await assertCode(driver.stat('missing', {}), 'TIERED_NOT_FOUND');
    await assertCode(driver.read('missing', { offset: 0, length: 1 }), 'TIERED_NOT_FOUND');
    await assertCode(driver.readInto('missing', new Uint8Array(1), { offset: 0 }), 'TIERED_NOT_FOUND');
  }),
  openTest('read() gives any range, short only at the end', async ({ driver, put }) => {
    const random = new Random(7);
    for (const size of [0, 1, 4096, 100_003]) {
      const bytes = someBytes(size, size);
      const key = `object-${size}`;
      await put(key, bytes);
      const ranges = [
        [0, size],
        [0, size + 10],
        [size, 1],
        [size + 5, 1],
        [0, 0],
        [Math.max(0, size - 1), 5],
      ];
      for (let i = 0; i < 20; i++) ranges.push([random.below(size + 1), random.below(size + 10)]);
      for (const [offset = 0, length = 0] of ranges) {
        const got = await driver.read(key, { offset, length });
        assertBytes(got, bytes.subarray(offset, offset + length), `${length} bytes at ${offset} of ${size}`);
      }
    }
  }),
  openTest(
    'readInto() fills the target, short only at the end, and touches nothing else',
    async ({ driver, put }) => {
      const bytes = someBytes(1000, 3);
      await put('object', bytes);
      for (const [offset, length] of [
        [0, 1000],
        [10, 100],
        [990, 100],
        [1000, 5],
        [2000, 5],
        [0, 0],
      ] as const) {
        const memory = new Uint8Array(length + 20).fill(0xaa);
        const count = await driver.readInto('object', memory.subarray(10, 10 + length), { offset });
        assert.equal(count, Math.max(0, Math.min(length, 1000 - offset)), `bytes of ${length} at ${offset}`);
        const expected = new Uint8Array(length + 20).fill(0xaa);
        expected.set(bytes.subarray(offset, offset + count), 10);
        assertBytes(memory, expected, `memory around ${length} bytes at ${offset}`);
      }
    },
  ),
  openTest('readInto() fills shared memory', async ({ driver, put }) => {
    const bytes = someBytes(5000, 4);
    await put('object', bytes);
    const target = new Uint8Array(new SharedArrayBuffer(5000));
    assert.equal(await driver.readInto('object', target, { offset: 0 }), 5000);
    assertBytes(target, bytes, 'shared memory');
  }),
  openTest(
    'readInto() tells only of bytes that are there, and while it is under way',
    async ({ driver, put }) => {
      const bytes = someBytes(3 * 1024 * 1024 + 5, 8);
      await put('object', bytes);
      const { version } = await driver.stat('object', {});
      for (const [offset, length] of [
        [0, bytes.byteLength],
        [7, bytes.byteLength],
        [1, 100],
      ] as const) {
        const target = new Uint8Array(length);
        let isOver = false;
        const progress = (told: number) => {
          assert.ok(!isOver, 'told of progress after the end');
          assert.ok(told <= length, 'told of more than the target has');
          assertBytes(
            target.subarray(0, told),
            bytes.subarray(offset, offset + told),
            `${told} bytes at ${offset}`,
          );
        };
        const count = await driver.readInto('object', target, { offset, version, progress });
        isOver = true;
        assertBytes(
          target.subarray(0, count),
          bytes.subarray(offset, offset + length),
          `the rest at ${offset}`,
        );
      }
    },
  ),
  openTest('many reads at the same time each get their own bytes', async ({ driver, put }) => {
    const objects = Array.from({ length: 8 }, (_, i) => someBytes(20_000 + i, i));
    for (const [i, bytes] of objects.entries()) await put(`object-${i}`, bytes);
    const random = new Random(11);
    const one = async () => {
      const i = random.below(objects.length);
      const bytes = objects[i] ?? new Uint8Array();
      const offset = random.below(bytes.byteLength);
      const length = random.below(5000);
      const got = await driver.read(`object-${i}`, { offset, length });
      assertBytes(got, bytes.subarray(offset, offset + length), `object-${i}`);
    };
    await Promise.all(Array.from({ length: 200 }, one));
  }),
  openTest('bytes that were read stay as they are when the object is replaced', async ({ driver, put }) => {
    const bytes = someBytes(1000, 6);
    await put('object', bytes);
    const before = await readAll(driver, 'object');
    await put('object', someBytes(1000, 7));
    assertBytes(before, bytes, 'bytes read before');
  }),
  openTest(
    'a read of a version gives that version or TIERED_SOURCE_CHANGED, and never other bytes',
    async ({ driver, put }) => {
      const [old, replacement] = [someBytes(1000, 8), someBytes(1500, 9)];
      const target = new Uint8Array(2000);
      const ways = [
        (version: string) => driver.read('object', { offset: 0, length: 2000, version }),
        (version: string) =>
          driver.readInto('object', target, { offset: 0, version }).then((count) => target.slice(0, count)),
      ];
      await put('object', old);
      const before = await driver.stat('object', {});
      for (const read of ways) assertBytes(await read(before.version), old, 'the version that is there');
      await put('object', replacement);
      // A driver may still have the old version, as an open file.
      for (const read of ways) await assertBytesOrCode(read(before.version), old, 'TIERED_SOURCE_CHANGED');
      const now = await driver.stat('object', {});
      for (const read of ways) assertBytes(await read(now.version), replacement, 'the version of now');
      for (const read of ways) await assertBytesOrCode(read(before.version), old, 'TIERED_SOURCE_CHANGED');
    },
  ),
  openTest('unusual keys name their own objects', async ({ driver, put }) => {
    for (const [i, key] of UNUSUAL_KEYS.entries()) await put(key, someBytes(100 + i, i));
    for (const [i, key] of UNUSUAL_KEYS.entries()) {
      assertBytes(await readAll(driver, key), someBytes(100 + i, i), key);
    }
  }),
];
