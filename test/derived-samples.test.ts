import { Hierarchy, MemoryDriver } from '@tiered/core';
import { openSamples, type SampleSet } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { DerivedDriver, type DerivedDriverOptions } from '@tiered/loader';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { recordBytes } from '../packages/loader/test/formats.js';
import { groups, loaderOf, singles } from '../packages/loader/test/helpers.js';

const BYTES = 16;

/** Calls of the transform below. */
let made = 0;
beforeEach(() => {
  made = 0;
});

function doubled(bytes: Uint8Array): Uint8Array {
  made += 1;
  const twice = new Uint8Array(BYTES);
  twice.set(bytes);
  twice.set(bytes, 8);
  return twice;
}

type Options = Partial<DerivedDriverOptions<Uint8Array>>;

/** A hierarchy over derived samples, with a tier in a directory. */
async function derived(
  samples: SampleSet<Uint8Array>,
  root: string,
  options: Options = {},
): Promise<Hierarchy> {
  const transform = { name: 'twice', version: '1', make: doubled };
  const source = new DerivedDriver({ samples, transform, bytes: BYTES, ...options });
  const hierarchy = await new Hierarchy({
    source,
    tiers: [{ driver: new FileSystemDriver({ root, writable: true }), quota: '1MiB' }],
    placement: new PlacementHandler({ chunk: 1024 }),
  }).open();
  onTestFinished(() => hierarchy.close());
  return hierarchy;
}

async function directory(): Promise<string> {
  const root = await mkdtemp(path.join(os.tmpdir(), 'derived-'));
  onTestFinished(() => rm(root, { recursive: true }));
  return root;
}

async function readAll(hierarchy: Hierarchy, epochs = 1): Promise<string[]> {
  const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: BYTES }) });
  const all: string[] = [];
  for await (const { data } of loaderOf(samples, { batchSize: 4, epochs, shuffle: false }))
    all.push(...data.map((bytes) => Buffer.from(bytes).toString('hex')));
  await hierarchy.idle();
  return all;
}

const expected = (counts: readonly number[]) =>
  counts.flatMap((count, object) =>
    Array.from({ length: count }, (_, i) => Buffer.from(recordBytes(object, i)).toString('hex').repeat(2)),
  );

describe('derived samples', () => {
  it('[D10] are made once, and kept on a tier, also over a restart', async () => {
    const samples = await singles([3, 12]);
    const root = await directory();
    const hierarchy = await derived(samples, root);
    expect(await readAll(hierarchy, 2)).toEqual([...expected([3, 12]), ...expected([3, 12])]);
    expect(made).toBe(15);
    await hierarchy.close();
    expect(await readAll(await derived(samples, root))).toEqual(expected([3, 12]));
    expect(made).toBe(15);
  });

  it('[D10] are made anew when the source changes, or the transform', async () => {
    const source = new MemoryDriver({ name: 'source' });
    const write = (key: string, object: number) => source.write(key, recordBytes(object, 0), { size: 8 });
    await write('a', 1);
    await write('b', 2);
    const root = await directory();
    const read = async (options: Options = {}) => {
      const inner = await new Hierarchy({ source }).open();
      const samples = await openSamples(inner, { format: rawRecords({ recordBytes: 8 }) });
      const hierarchy = await derived(samples, root, options);
      const all = await readAll(hierarchy);
      await hierarchy.close();
      await inner.close();
      return all.map((hex) => Number.parseInt(hex.slice(0, 8), 16));
    };
    const make = (bytes: Uint8Array) => doubled(bytes);
    const second = { transform: { name: 'twice', version: '2', make } };
    expect([await read(), made]).toEqual([[1, 2], 2]);
    await write('b', 3);
    for (const options of [{}, second]) {
      made = 0;
      expect(await read(options)).toEqual([1, 3]);
      expect(made).toBeGreaterThan(0);
      // A copy that is still being removed may leave its object to the next read.
      await read(options);
      made = 0;
      expect([await read(options), made]).toEqual([[1, 3], 0]);
    }
  });

  it('are of records with several samples too', async () => {
    const hierarchy = await derived(await groups([5, 7], 3), await directory());
    expect(await readAll(hierarchy)).toEqual(expected([5, 7]));
    const keys: string[] = [];
    for await (const page of hierarchy.list({ prefix: '0001' })) keys.push(...page.map(({ key }) => key));
    expect(keys).toEqual(Array.from({ length: 7 }, (_, i) => `0001#0${i}`));
  });

  it('are made in memory that is used again, of which nothing is left in them', async () => {
    const used = new Set<unknown>();
    const ends: (() => void)[] = [];
    const begun = new EventEmitter();
    // Those of the first object wait.
    const make = async (bytes: Uint8Array) => {
      used.add(bytes.buffer);
      if (Buffer.from(bytes).equals(recordBytes(0, 0))) {
        await new Promise<void>((resolve) => {
          ends.push(resolve);
          begun.emit(`${ends.length}`);
        });
      }
      return bytes;
    };
    const driver = new DerivedDriver({
      samples: await groups([2, 6], 3),
      transform: { name: 'same', version: '1', make },
      bytes: 8,
      concurrency: 3,
    });
    await driver.open({});
    const whole = { offset: 0, length: 8 };
    onTestFinished(() => driver.close());
    const both = once(begun, '2');
    const [first, second] = [driver.read('0000#0', whole), driver.read('0000#0', whole)];
    await both;
    const made: Uint8Array[] = [];
    const readOthers = async () => {
      for (let i = 0; i < 6; i++) made.push(await driver.read(`0001#${i}`, whole));
    };
    await readOthers();
    ends[0]?.();
    await first;
    await readOthers();
    ends[1]?.();
    await second;
    const others = Array.from({ length: 6 }, (_, i) => recordBytes(1, i));
    expect(made).toEqual([...others, ...others]);
    expect([await first, await second]).toEqual([recordBytes(0, 0), recordBytes(0, 0)]);
    expect(used.size).toBe(3);
  });

  it('of another size than was said are an error that names the sample', async () => {
    const transform = { name: 'short', version: '1', make: () => new Uint8Array(3) };
    const hierarchy = await derived(await singles([2]), await directory(), { transform });
    await expect(hierarchy.read('0000#1')).rejects.toMatchObject({
      code: 'TIERED_TRANSFORM_FAILED',
      key: '0000#1',
      message: expect.stringContaining('3 bytes'),
    });
    const failing = { name: 'failing', version: '1', make: () => Promise.reject(new Error('no such image')) };
    const other = await derived(await singles([2]), await directory(), { transform: failing });
    await expect(other.read('0000#1')).rejects.toMatchObject({
      message: expect.stringContaining('no such image'),
    });
    await expect(other.read('0000#2')).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
  });

  it('need options that can work', async () => {
    const samples = await singles([1]);
    const transform = { name: 'twice', version: '1', make: doubled };
    const make = (options: Options) => () => new DerivedDriver({ samples, transform, bytes: 1, ...options });
    expect(make({ bytes: 0 })).toThrow(/^bytes/);
    expect(make({ transform: { ...transform, version: '' } })).toThrow(/^transform\.version/);
    expect(make({ workers: 1 })).toThrow(/^transform: .*module/);
  });
});
