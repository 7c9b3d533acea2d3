import assert from 'node:assert/strict';
import type { ReadOutcome, StorageDriver } from '../driver/driver.js';
import { isTieredError, type ErrorCode } from '../support/errors.js';
import { Random } from '../support/random.js';
import { someBytes } from '../testing/some-bytes.js';
import { assertBytes, assertCode, openTest, type ConformanceTest, type OpenSubject } from './subject.js';

/** Both kinds of memory. A driver may handle batches into shared memory differently. */
const MEMORIES: Readonly<Record<string, (bytes: number) => Uint8Array>> = {
  'own memory': (bytes) => new Uint8Array(bytes),
  'shared memory': (bytes) => new Uint8Array(new SharedArrayBuffer(bytes)),
};

/** Makes a test for each kind of memory. */
function batchTest(
  name: string,
  body: (subject: OpenSubject, memoryOf: (bytes: number) => Uint8Array) => Promise<void>,
): readonly ConformanceTest[] {
  return Object.entries(MEMORIES).map(([kind, memoryOf]) =>
    openTest(`readMany() into ${kind} ${name}`, (subject) => body(subject, memoryOf)),
  );
}

/** Asserts that one read of a batch failed with a `TieredError` of this code. */
async function assertFailed(outcome: ReadOutcome | undefined, code: ErrorCode): Promise<void> {
  assert.ok(outcome !== undefined && 'error' in outcome, `expected ${code}, got ${JSON.stringify(outcome)}`);
  await assertCode(Promise.reject(outcome.error), code);
}

/** Reads with a version; returns the bytes, or undefined if the driver reports another version. */
async function readVersion(
  driver: StorageDriver,
  target: Uint8Array,
  version: string,
): Promise<Uint8Array | undefined> {
  const [outcome] = await driver.readMany([{ key: 'object', offset: 0, target, version }], {});
  assert.ok(outcome !== undefined);
  if ('bytes' in outcome) return target.subarray(0, outcome.bytes);
  if (isTieredError(outcome.error, 'TIERED_SOURCE_CHANGED')) return undefined;
  throw outcome.error;
}

/** Tests of batch reads. */
export const batches: readonly ConformanceTest[] = [
  ...batchTest('answers each request in its place, errors too', async ({ driver, put }, memoryOf) => {
    const bytes = someBytes(300, 5);
    await put('a', bytes);
    await put('b', bytes.subarray(0, 50));
    const targets = [memoryOf(100), memoryOf(100), memoryOf(100)] as const;
    const outcomes = await driver.readMany(
      [
        { key: 'a', offset: 200, target: targets[0] },
        { key: 'missing', offset: 0, target: targets[1] },
        { key: 'b', offset: 0, target: targets[2] },
      ],
      {},
    );
    assert.equal(outcomes.length, 3);
    assert.deepEqual(outcomes[0], { bytes: 100 });
    assertBytes(targets[0], bytes.subarray(200), 'first target');
    await assertFailed(outcomes[1], 'TIERED_NOT_FOUND');
    assert.deepEqual(outcomes[2], { bytes: 50 });
    assertBytes(targets[2].subarray(0, 50), bytes.subarray(0, 50), 'third target');
    assert.deepEqual(await driver.readMany([], {}), []);
  }),
  ...batchTest(
    'serves 64 requests on one memory, and touches nothing between the targets',
    async ({ driver, put }, memoryOf) => {
      const random = new Random(13);
      const objects = Array.from({ length: 16 }, (_, i) => someBytes(random.below(3000), i));
      for (const [i, bytes] of objects.entries()) await put(`object-${i}`, bytes);
      const memory = memoryOf(64 * 4000).fill(0xaa);
      const expected = new Uint8Array(memory);
      const requests = Array.from({ length: 64 }, (_, i) => {
        const [from, length, offset] = [i * 4000 + random.below(100), random.below(3500), random.below(2000)];
        const range = objects[i % 16]?.subarray(offset, offset + length) ?? new Uint8Array();
        expected.set(range, from);
        const target = memory.subarray(from, from + length);
        return { request: { key: `object-${i % 16}`, offset, target }, range };
      });
      const outcomes = await driver.readMany(
        requests.map(({ request }) => request),
        {},
      );
      assert.deepEqual(
        outcomes,
        requests.map(({ range }) => ({ bytes: range.byteLength })),
      );
      assertBytes(memory, expected, 'memory with 64 targets');
    },
  ),
  ...batchTest('takes empty targets, and one key more than once', async ({ driver, put }, memoryOf) => {
    const bytes = someBytes(1000, 14);
    await put('object', bytes);
    const targets = [memoryOf(0), memoryOf(1000), memoryOf(0), memoryOf(600)] as const;
    const requests = targets.map((target, i) => ({ key: 'object', offset: i * 200, target }));
    assert.deepEqual(
      await driver.readMany(requests, {}),
      [0, 800, 0, 400].map((count) => ({ bytes: count })),
    );
    assertBytes(targets[1].subarray(0, 800), bytes.subarray(200), 'second target');
    assertBytes(targets[3].subarray(0, 400), bytes.subarray(600), 'fourth target');
  }),
  ...batchTest('puts pieces of an object one behind the other', async ({ driver, put }, memoryOf) => {
    const bytes = someBytes(5000, 18);
    await put('object', bytes);
    const pieces = [4000, 900, 0, 10, 30, 0, 5, 90];
    const memory = memoryOf(1200).fill(0xaa);
    const target = memory.subarray(100, 1100);
    const single = memoryOf(10);
    const outcomes = await driver.readMany(
      [
        { key: 'object', offset: 100, target, pieces: Float64Array.from(pieces) },
        { key: 'object', offset: 7, target: single },
        { key: 'missing', offset: 0, target: memoryOf(9), pieces: Float64Array.of(0, 4, 5, 5) },
      ],
      {},
    );
    assert.deepEqual(outcomes[0], { bytes: 1000 });
    const expected = new Uint8Array(1200).fill(0xaa);
    expected.set(bytes.subarray(4100, 5000), 100);
    expected.set(bytes.subarray(100, 110), 1000);
    expected.set(bytes.subarray(105, 195), 1010);
    assertBytes(memory, expected, 'memory with pieces');
    assert.deepEqual(outcomes[1], { bytes: 10 });
    assertBytes(single, bytes.subarray(7, 17), 'the range behind the pieces');
    await assertFailed(outcomes[2], 'TIERED_NOT_FOUND');
  }),
  ...batchTest('puts 1,000 pieces of an object one behind the other', async ({ driver, put }, memoryOf) => {
    const bytes = someBytes(5000, 20);
    await put('object', bytes);
    const { version } = await driver.stat('object', {});
    const pieces = Float64Array.from({ length: 2000 }, (_, i) => (i % 2 === 0 ? 4997 - 4 * (i >> 1) : 3));
    pieces.set([4997, 3], 998);
    const target = memoryOf(3000);
    const outcomes = await driver.readMany([{ key: 'object', offset: 0, target, pieces, version }], {});
    assert.deepEqual(outcomes, [{ bytes: 3000 }]);
    const expected = Uint8Array.from({ length: 3000 }, (_, at) => {
      const piece = Math.floor(at / 3);
      return bytes[(pieces[2 * piece] ?? 0) + (at % 3)] ?? 0;
    });
    assertBytes(target, expected, 'the pieces');
    // One of many ranges that the object cuts short.
    pieces.set([4999, 3], 998);
    assert.deepEqual(await driver.readMany([{ key: 'object', offset: 0, target, pieces }], {}), [
      { bytes: 3 * 499 + 1 },
    ]);
  }),
  ...batchTest('ends pieces where the object cuts one short', async ({ driver, put }, memoryOf) => {
    const bytes = someBytes(300, 19);
    await put('object', bytes);
    const target = memoryOf(60);
    const pieces = Float64Array.of(10, 20, 290, 30, 0, 10);
    const outcomes = await driver.readMany([{ key: 'object', offset: 0, target, pieces }], {});
    assert.deepEqual(outcomes, [{ bytes: 30 }]);
    assertBytes(target.subarray(0, 20), bytes.subarray(10, 30), 'first piece');
    assertBytes(target.subarray(20, 30), bytes.subarray(290), 'the piece that is cut short');
  }),
  ...batchTest(
    'gives the version asked for or TIERED_SOURCE_CHANGED, and never other bytes',
    async ({ driver, put }, memoryOf) => {
      const [old, replacement] = [someBytes(1000, 15), someBytes(1500, 16)];
      const read = (version: string) => readVersion(driver, memoryOf(2000), version);
      await put('object', old);
      const before = await driver.stat('object', {});
      assertBytes((await read(before.version)) ?? new Uint8Array(), old, 'the version that is there');
      await put('object', replacement);
      // A driver may still have the old version, as an open file.
      assertBytes((await read(before.version)) ?? old, old, 'the version that was there');
      const now = await driver.stat('object', {});
      assertBytes((await read(now.version)) ?? new Uint8Array(), replacement, 'the version of now');
      assertBytes((await read(before.version)) ?? old, old, 'the version of before');
    },
  ),
  ...batchTest('makes an abort the outcome of what it stops', async ({ driver, put }, memoryOf) => {
    await put('object', someBytes(1000, 17));
    const reason = new Error('no longer wanted');
    const requests = Array.from({ length: 40 }, () => ({ key: 'object', offset: 0, target: memoryOf(1000) }));
    const stopped = requests.map(() => ({ error: reason }));
    assert.deepEqual(await driver.readMany(requests, { signal: AbortSignal.abort(reason) }), stopped);
    const controller = new AbortController();
    const reading = driver.readMany(requests, { signal: controller.signal });
    controller.abort(reason);
    for (const outcome of await reading)
      assert.deepEqual(outcome, 'bytes' in outcome ? { bytes: 1000 } : { error: reason });
  }),
];
