import { MemoryDriver, Random, type StorageDriver } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { loadChecksum } from '@tiered/core/internal';
import {
  FaultDriver,
  HoldingDriver,
  ManualClock,
  settled,
  someBytes,
  type FaultRule,
} from '@tiered/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SharedTierDriver, type SharedTierOptions } from '../src/index.js';
import { bytesReadOf, objectsOf, sourceOf, type Objects } from './helpers.js';

const CHUNK = 8000;
const OBJECTS = new Map([
  ...objectsOf(10, 20_000),
  ['whole', someBytes(2 * CHUNK, 1)],
  ['small', someBytes(5, 2)],
]);

/** A node: the driver, and how much it reads from the source. */
async function node(source: StorageDriver, options: SharedTierOptions) {
  const counted = new MetricsDriver(source);
  const driver = new SharedTierDriver(counted, { chunk: CHUNK, ...options });
  await driver.open({});
  onTestFinished(() => driver.close());
  return { driver, sourceBytes: () => bytesReadOf(counted) };
}

type Node = Awaited<ReturnType<typeof node>>;

async function readAll({ driver }: Node, objects: Objects = OBJECTS): Promise<void> {
  for (const [key, bytes] of objects) {
    const { version } = await driver.stat(key, {});
    const read = await driver.read(key, { offset: 0, length: bytes.byteLength, version });
    expect(Buffer.compare(read, bytes), key).toBe(0);
  }
}

/** Two nodes, the first of which has read everything and has written what it read. */
async function two(tier: StorageDriver, others: Partial<SharedTierOptions> = {}) {
  const source = await sourceOf(OBJECTS);
  const first = await node(source, { tier, ...others });
  await readAll(first);
  await first.driver.close();
  return { source, second: await node(source, { tier, ...others }) };
}

const total = [...OBJECTS.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);

describe('a tier that nodes share', () => {
  it('[Z8] gives a node what another one has read', async () => {
    const { second } = await two(new MemoryDriver({ name: 'shared' }));
    await readAll(second);
    expect(second.sourceBytes()).toBe(0);
    expect(second.driver.metrics()).toMatchObject({ misses: 0, faults: 0 });
  });

  it('[Z8] gives any range, also past the end, of any version that is asked for', async () => {
    const { second } = await two(new MemoryDriver({ name: 'shared' }));
    const random = new Random(3);
    for (let i = 0; i < 200; i++) {
      const key = [...OBJECTS.keys()][random.below(OBJECTS.size)] ?? '';
      const bytes = OBJECTS.get(key) ?? new Uint8Array();
      const [offset, length] = [random.below(bytes.byteLength + 10), random.below(3 * CHUNK)];
      const { version } = await second.driver.stat(key, {});
      const read = await second.driver.read(key, { offset, length, version });
      expect(
        Buffer.compare(read, bytes.subarray(offset, offset + length)),
        `${key} ${offset} ${length}`,
      ).toBe(0);
    }
  });

  it('[Z8] never gives another version', async () => {
    const { source, second } = await two(new MemoryDriver({ name: 'shared' }));
    const changed = new Map([...OBJECTS].map(([key, bytes]) => [key, someBytes(bytes.byteLength, 99)]));
    for (const [key, bytes] of changed) await source.write(key, bytes, { size: bytes.byteLength });
    await readAll(second, changed);
  });

  it('[Z8] finds bytes that turned over, removes them, and reads the source', async () => {
    const tier = new MemoryDriver({ name: 'shared' });
    await tier.open({});
    const { second } = await two(tier);
    const random = new Random(5);
    for await (const page of tier.list({}))
      for (const { key, size } of page) {
        const bytes = Uint8Array.from(await tier.read(key, { offset: 0, length: size }));
        const at = random.below(size);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
        // Some are cut off as well.
        const left = random.below(4) === 0 ? at : size;
        await tier.write(key, bytes.subarray(0, left), { size: left });
      }
    await readAll(second);
    expect(second.sourceBytes()).toBe(total);
    await second.driver.close();
  });

  it('[Z8] is left alone for a while after three faults, and fails no read', async () => {
    const clock = new ManualClock();
    const down: FaultRule = {
      operations: ['read', 'readMany', 'write'],
      fault: { kind: 'fail', code: 'TIERED_UNAVAILABLE' },
    };
    const tier = new FaultDriver(new MemoryDriver({ name: 'shared' }), { rules: [down] });
    const one = await node(await sourceOf(OBJECTS), { tier, clock });
    await readAll(one);
    expect(one.driver.metrics().isAsked).toBe(false);
    const { faults } = one.driver.metrics();
    await readAll(one);
    expect(one.driver.metrics().faults).toBe(faults);
    await clock.advance(10_000);
    expect(one.driver.metrics().isAsked).toBe(true);
    await readAll(one);
    expect(one.driver.metrics().faults).toBeGreaterThan(faults);
  });

  it('that is full takes nothing more, and is still asked', async () => {
    const rule: FaultRule = { operations: ['write'], fault: { kind: 'fail', code: 'TIERED_NO_SPACE' } };
    const tier = new FaultDriver(new MemoryDriver({ name: 'shared' }), { rules: [rule] });
    const one = await node(await sourceOf(OBJECTS), { tier, writeMemory: CHUNK });
    await readAll(one);
    await one.driver.close();
    expect(one.driver.metrics()).toMatchObject({ written: 0, faults: 0, isAsked: true });
    expect(one.driver.metrics().dropped).toBe(one.driver.metrics().misses);
  });

  it('[Z8] has each chunk fetched once for all readers of a node', async () => {
    const one = await node(await sourceOf(OBJECTS), { tier: new MemoryDriver({ name: 'shared' }) });
    const [key = '', bytes = new Uint8Array()] = [...OBJECTS][0] ?? [];
    const { version } = await one.driver.stat(key, {});
    const piece = 500;
    const aborted = one.driver.read(key, { offset: 0, length: piece, version, signal: AbortSignal.abort() });
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    const offsets = Array.from({ length: Math.ceil(bytes.byteLength / piece) }, (_, at) => at * piece);
    const reads = offsets.map((offset) => one.driver.read(key, { offset, length: piece, version }));
    for (const [at, read] of (await Promise.all(reads)).entries())
      expect(Buffer.compare(read, bytes.subarray(at * piece, (at + 1) * piece)), `piece ${at}`).toBe(0);
    expect(one.sourceBytes()).toBe(bytes.byteLength);
  });

  it('reads and writes again after it was closed and opened', async () => {
    const one = await node(await sourceOf(OBJECTS), { tier: new MemoryDriver({ name: 'shared' }) });
    await readAll(one, new Map([...OBJECTS].slice(0, 5)));
    await one.driver.close();
    await one.driver.open({});
    await readAll(one);
    await one.driver.close();
    expect(one.driver.metrics()).toMatchObject({ dropped: 0, written: one.driver.metrics().misses });
  });

  it('ends fetches at its end, and waits for copies that are being written', async () => {
    await loadChecksum();
    const source = new HoldingDriver(await sourceOf(OBJECTS), { operations: ['read'] });
    const tier = new HoldingDriver(new MemoryDriver({ name: 'shared' }), { operations: ['write'] });
    const { driver } = await node(source, { tier });
    const { version } = await driver.stat('small', {});
    const small = driver.read('small', { offset: 0, length: 5, version });
    await settled();
    await source.release();
    const { version: other } = await driver.stat('whole', {});
    const whole = driver
      .read('whole', { offset: 0, length: 5, version: other })
      .catch((error: unknown) => error);
    await settled();
    const closed = driver.close();
    await source.release();
    await tier.releaseAll();
    await closed;
    expect(await small).toEqual(OBJECTS.get('small'));
    expect(await whole).toMatchObject({ code: 'TIERED_CLOSED' });
    expect(driver.metrics()).toMatchObject({ written: 1, dropped: 0, faults: 0 });
  });

  it('waits no longer than its caller for a tier that does not open', async () => {
    const tier = new HoldingDriver(new MemoryDriver({ name: 'shared' }), { operations: ['open'] });
    const { driver } = await node(await sourceOf(OBJECTS), { tier });
    const { version } = await driver.stat('small', {});
    const ends = new AbortController();
    const read = driver.read('small', { offset: 0, length: 5, version, signal: ends.signal });
    await settled();
    ends.abort(new Error('enough'));
    await expect(read).rejects.toThrow('enough');
    await tier.releaseAll();
  });
});
