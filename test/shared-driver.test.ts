import { Hierarchy, MemoryDriver, type StorageDriver } from '@tiered/core';
import { LimitDriver, PrefixDriver, RetryDriver } from '@tiered/core/decorators';
import { someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { OpenDalDriver } from '@tiered/opendal-adapter';
import { S3Driver } from '@tiered/s3-adapter';
import { PlacementHandler } from '@tiered/tiering';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BUCKET, optionsFor, place } from '../packages/s3-adapter/test/helpers.js';

const BYTES = someBytes(1000, 1);
const MISTAKE = expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }) as Error;

async function temporaryDirectory(): Promise<string> {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  onTestFinished(() => fs.rm(directory, { recursive: true }));
  return directory;
}

async function directoryWith(key: string): Promise<string> {
  const directory = await temporaryDirectory();
  await fs.writeFile(path.join(directory, key), BYTES);
  return directory;
}

/** A source of each kind, with one object. */
const SOURCES: Readonly<Record<string, () => Promise<StorageDriver>>> = {
  memory: async () => {
    const driver = new MemoryDriver();
    await driver.write('a', BYTES, { size: BYTES.byteLength });
    return driver;
  },
  fs: async () => new FileSystemDriver({ root: await directoryWith('a') }),
  s3: async () => {
    const { server } = await place();
    server.put(BUCKET, 'a', BYTES);
    return new S3Driver({ ...optionsFor(server), writable: false });
  },
  opendal: async () => new OpenDalDriver({ service: 'fs', options: { root: await directoryWith('a') } }),
  'fs in decorators': async () =>
    new RetryDriver(
      new LimitDriver(new FileSystemDriver({ root: await directoryWith('a') }), { concurrency: 2 }),
    ),
};

const read = async (hierarchy: Hierarchy) => Uint8Array.from(await hierarchy.read('a'));

const tierOf = (source: StorageDriver, driver: StorageDriver) =>
  new Hierarchy({ source, tiers: [{ driver, quota: '4MiB' }], placement: new PlacementHandler() });

describe.each(Object.entries(SOURCES))('a source of two hierarchies: %s', (_, make) => {
  it('[C1] stays open until the last of them closes, and opens again afterwards', async () => {
    const source = await make();
    const one = new Hierarchy({ source });
    const two = new Hierarchy({ source });
    await Promise.all([one.open(), two.open()]);
    await one.close();
    expect(await read(two)).toEqual(BYTES);
    const three = await new Hierarchy({ source }).open();
    await two.close();
    expect(await read(three)).toEqual(BYTES);
    await three.close();
    const four = await new Hierarchy({ source }).open();
    expect(await read(four)).toEqual(BYTES);
    await four.close();
  });

  it('[C1] stays open when another hierarchy is closed that was never started', async () => {
    const source = await make();
    const one = await new Hierarchy({ source }).open();
    await new Hierarchy({ source }).close();
    expect(await read(one)).toEqual(BYTES);
    await one.close();
  });
});

describe('the driver of a tier', () => {
  it('[L1] is refused to a second hierarchy while the first is open, also in decorators, and the first goes on', async () => {
    const root = await temporaryDirectory();
    for (const driver of [new FileSystemDriver({ root, writable: true }), new MemoryDriver()]) {
      for (const wrap of [
        (inner: StorageDriver) => inner,
        (inner: StorageDriver) => new RetryDriver(inner),
      ]) {
        const source = await (SOURCES['memory'] as () => Promise<StorageDriver>)();
        const one = await tierOf(source, driver).open();
        await one.place('a');
        const starting = tierOf(source, wrap(driver)).open();
        await expect(starting).rejects.toThrow(/^tiers\[0\]\.driver: .*make a new driver for each hierarchy/);
        await expect(starting).rejects.toEqual(MISTAKE);
        expect(await read(one)).toEqual(BYTES);
        expect(one.stats().tiers[0]).toMatchObject({ reads: 1, faults: 0 });
        await one.close();
        await (await tierOf(source, wrap(driver)).open()).close();
      }
    }
  });

  it('[L1] is refused to a second hierarchy at or inside a prefix of the first, or around it, whatever else is around them', async () => {
    const retrying = (inner: StorageDriver) => new RetryDriver(inner);
    const under = (prefix: string) => (inner: StorageDriver) => new PrefixDriver(inner, prefix);
    const asItIs = (inner: StorageDriver) => inner;
    const inFiles = async () => new FileSystemDriver({ root: await temporaryDirectory(), writable: true });
    for (const make of [inFiles, () => new MemoryDriver()]) {
      for (const [first, second] of [
        [under('a/'), under('a/')],
        [under('a/'), asItIs],
        [asItIs, under('a/')],
        [under('a/'), (inner: StorageDriver) => under('b/')(retrying(under('a/')(inner)))],
        [(inner: StorageDriver) => retrying(under('b/')(under('a/')(inner))), under('a/')],
        [under('a'), under('ab/')],
      ] as const) {
        const driver = await make();
        const source = await (SOURCES['memory'] as () => Promise<StorageDriver>)();
        const one = await tierOf(source, first(driver)).open();
        await one.place('a');
        const starting = tierOf(source, second(driver)).open();
        await expect(starting).rejects.toThrow(/^tiers\[0\]\.driver: .*make a new driver for each hierarchy/);
        await expect(starting).rejects.toEqual(MISTAKE);
        expect(await read(one)).toEqual(BYTES);
        expect(one.stats().tiers[0]).toMatchObject({ faults: 0 });
        await one.close();
        await (await tierOf(source, first(driver)).open()).close();
      }
    }
  });

  it('may be behind several prefixes', async () => {
    const memory = new MemoryDriver();
    const source = await (SOURCES['memory'] as () => Promise<StorageDriver>)();
    const [one, two] = await Promise.all(
      ['one/', 'two/'].map((prefix) => tierOf(source, new PrefixDriver(memory, prefix)).open()),
    );
    await one?.place('a');
    await one?.close();
    await two?.place('a');
    expect(await two?.read('a')).toEqual(BYTES);
    expect(two?.stats().tiers[0]).toMatchObject({ faults: 0 });
    await two?.close();
  });
});
