import { reportOf } from '../src/dataset/report.js';
import { formatBytes, Hierarchy, MemoryDriver, systemClock } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { StagingBuffer } from '@tiered/prefetch';
import { adaptiveAutotuner } from '@tiered/prefetch/autotuner';
import { S3Server } from '@tiered/s3-server';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { Dataset, openDataset } from 'tiered';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { textOf } from './cli/text-of.js';

const KEYS = ['a', 'b', 'c/d', 'e'];
const BYTES = 10_000;

let directory: string;
let source: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-dataset-'));
  source = path.join(directory, 'source');
  await mkdir(path.join(source, 'c'), { recursive: true });
  for (const [i, key] of KEYS.entries()) await writeFile(path.join(source, key), someBytes(BYTES, i));
});
afterEach(() => rm(directory, { recursive: true }));

describe('openDataset', () => {
  it('reads all epochs in the order of the seed, the later ones from the tiers', async () => {
    const tiers = ['ram:2MiB', `${path.join(directory, 'cache')}:10MB`];
    await using data = await openDataset({ source, tiers, progress: false });
    expect(data.keys).toEqual(KEYS);
    const read: [number, string, number][] = [];
    for await (const { key, epoch, data: bytes } of data.epochs({ seed: 42, epochs: 3 })) {
      expect(bytes).toEqual(someBytes(BYTES, KEYS.indexOf(key)));
      if (epoch === 0) await data.hierarchy.idle();
      read.push([epoch, key, bytes.byteLength]);
    }
    expect(read).toHaveLength(3 * KEYS.length);
    for (const epoch of [0, 1, 2])
      expect(
        read
          .filter(([of]) => of === epoch)
          .map(([, key]) => key)
          .sort(),
      ).toEqual(KEYS);
    const { source: from, tiers: levels } = data.hierarchy.stats();
    expect(from.readBytes).toBe(KEYS.length * BYTES);
    expect(levels.map(({ driver }) => driver)[0]).toBe('memory');
    const report = data.report();
    expect(report).toContain(`dataset: 4 objects, ${formatBytes(KEYS.length * BYTES)}`);
    expect(report).toContain('1.00 x the dataset');
    expect(report).toMatch(/^epoch 2: 4 samples/m);
    expect(report).toMatch(/^epoch 0: .*; hit ratio \d+ %; read meanwhile: .*% from fs:/m);
    const hits = levels.reduce((sum, { readBytes }) => sum + readBytes, 0);
    const ratio = Math.round((100 * hits) / (hits + from.readBytes));
    expect(report).toMatch(
      new RegExp(`^hit ratio: ${ratio} % of the bytes and \\d+ % of the reads came from tiers$`, 'm'),
    );
    expect(report).toMatch(/^tier 1, fs:/m);
    // So small a dataset fits into the memory of the prefetcher.
    expect(report).toMatch(/^read ahead: \d samples? of earlier epochs (was|were) still in memory/m);
    expect(report).toMatch(/^limit: ./m);
  });

  it('says how many samples were skipped, and in the singular of one', async () => {
    await using data = await openDataset({ source, progress: false });
    await rm(path.join(source, 'a'));
    const samples = data.epochs({ seed: 42, epochs: 2, onError: 'skip' });
    let taken = 0;
    for await (const sample of samples) taken += sample.epoch >= 0 ? 1 : 0;
    expect(taken).toBe(6);
    expect(data.report()).toContain('\nskipped: 2 samples that could not be read\n');
    const { profile, stats } = { profile: samples.profile(), stats: samples.stats() };
    const one = reportOf(data.hierarchy.stats(), { profile, stats: { ...stats, skipped: 1, repeated: 1 } });
    expect(one).toContain(
      '\nread ahead: 1 sample of earlier epochs was still in memory, and not read again\n',
    );
    expect(one).toContain('\nskipped: 1 sample that could not be read\n');
  });

  it('says how many reads took bytes that were on their way', async () => {
    await using data = await openDataset({ source, progress: false });
    const stats = data.hierarchy.stats();
    const withJoined = (joined: number) =>
      reportOf(
        { ...stats, reads: { total: 5999, fromTiers: 12, fromSource: 5987 - joined, joined, empty: 0 } },
        undefined,
      );
    expect(withJoined(2184)).toContain(
      '\njoined: 2,184 reads took bytes that were on their way already, and asked the source for nothing\n',
    );
    expect(withJoined(59)).not.toContain('joined');
  });

  it('says what of a tier is on its way', async () => {
    await using data = await openDataset({ source, tiers: ['ram:64MiB'], progress: false });
    const stats = data.hierarchy.stats();
    const [first] = stats.tiers;
    if (first === undefined) throw new Error('There is no tier.');
    const filling = {
      ...first,
      usedBytes: 28 * 2 ** 20,
      reservedBytes: 29 * 2 ** 20,
      quotaBytes: 57 * 2 ** 20,
    };
    expect(reportOf({ ...stats, tiers: [filling] }, undefined)).toContain(
      'tier 0, memory: holds 28 MiB of 57 MiB, 29 MiB more are on their way, gave 0 B',
    );
  });

  it('has the same order on every machine, another with another seed, and that of the keys without one', async () => {
    await using data = await openDataset({ source, progress: false });
    const order = async (options: Parameters<typeof data.epochs>[0]) => {
      const keys: string[] = [];
      for await (const { key } of data.epochs(options)) keys.push(key);
      return keys.join(' ');
    };
    expect(await order({ seed: 1, epochs: 2 })).toBe(await order({ seed: 1, epochs: 2 }));
    const orders = await Promise.all([1, 2, 3, 4].map((seed) => order({ seed, epochs: 2 })));
    expect(new Set(orders).size).toBeGreaterThan(1);
    expect(await order({ shuffle: false })).toBe('a b c/d e');
    expect(await order({ shuffle: false, filter: (key) => key.startsWith('c/') })).toBe('c/d');
    expect(() => data.epochs({ filter: () => false })).toThrow('filter');
  });

  it('refuses options that do not exist, which JavaScript would pass over in silence', async () => {
    const opened = (options: unknown) => openDataset(options as { source: string });
    const refused = (message: string) => ({ code: 'TIERED_CONFIG_INVALID', message });
    await expect(opened({ sorce: source })).rejects.toMatchObject(
      refused('sorce: openDataset has no such option; did you mean source?'),
    );
    await expect(opened({ source, tiers: 'ram:2MiB' })).rejects.toMatchObject(
      refused('tiers: expected a list, such as ["ram:8GiB", "/nvme/cache:200GiB"], got "ram:2MiB"'),
    );
    await expect(opened(undefined)).rejects.toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
    await using data = await openDataset({ source, tiers: undefined, progress: false });
    const epochs = (options: object) => () => data.epochs(options);
    expect(epochs({ seed: 1, epoch: 90 })).toThrow('epoch: epochs has no such option; did you mean epochs?');
    expect(epochs({ seed: 1, seeed: undefined })).not.toThrow();
  });

  it('goes on where a state says', async () => {
    await using data = await openDataset({ source, progress: false });
    const whole: string[] = [];
    for await (const { key } of data.epochs({ seed: 7, epochs: 2 })) whole.push(key);
    const first = data.epochs({ seed: 7, epochs: 2 });
    for (const sample of await first.take(1)) sample.release();
    const resume = first.state();
    const rest: string[] = [];
    for await (const { key } of data.epochs({ seed: 7, epochs: 2, resume })) rest.push(key);
    expect(rest).toEqual(whole.slice(1));
    // What has ended goes on with more epochs.
    const longer: string[] = [];
    const ended = data.epochs({ seed: 7, epochs: 1 });
    for await (const sample of ended) longer.push(sample.key);
    for await (const { key } of data.epochs({ seed: 7, epochs: 2, resume: ended.state() })) longer.push(key);
    expect(longer).toEqual(whole);
  });

  it('takes a single file, and the object of a mapping, as a dataset', async () => {
    const file = path.join(source, 'c', 'd');
    for (const given of [file, { driver: 'fs', root: source, object: 'c/d' }]) {
      const tiers = [`${path.join(directory, 'cache')}:10MB`];
      await using data = await openDataset({ source: given, tiers, progress: false });
      const key = given === file ? 'd' : 'c/d';
      expect(data.keys).toEqual([key]);
      for await (const sample of data.epochs({ epochs: 2 })) {
        expect(sample.data).toEqual(someBytes(BYTES, KEYS.indexOf('c/d')));
        await data.hierarchy.idle();
      }
      expect(data.hierarchy.stats().source.readBytes).toBe(BYTES);
      await expect(data.hierarchy.read('e')).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
      await rm(path.join(directory, 'cache'), { recursive: true });
    }
    await expect(
      openDataset({ source: { driver: 'fs', root: source, object: 'none' } }),
    ).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
  });

  it('takes the URL of an object for that object, if nothing lies below it', async () => {
    const server = await S3Server.start();
    onTestFinished(() => server.close());
    server.createBucket('data');
    for (const key of ['a/train.bin', 'a/train.bin2', 'b/c', 'b/c/d'])
      server.put('data', key, someBytes(9, key.length));
    vi.stubEnv('AWS_ENDPOINT_URL_S3', server.endpoint);
    vi.stubEnv('AWS_REGION', 'us-east-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', server.credentials.accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', server.credentials.secretAccessKey);
    onTestFinished(() => void vi.unstubAllEnvs());
    const keysAt = async (url: string) => {
      await using data = await openDataset({ source: url, progress: false });
      for await (const sample of data.epochs()) expect(sample.data.byteLength).toBe(9);
      return data.keys;
    };
    expect(await keysAt('s3://data/a/train.bin')).toEqual(['a/train.bin']);
    expect(await keysAt('s3://data/b/c'), 'a prefix').toEqual(['d']);
    for (const none of ['s3://data/a/train.bin/', 's3://data/a/trai'])
      await expect(keysAt(none), none).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
  });

  it('takes the path of a configuration file', async () => {
    const file = path.join(directory, 'tiers.json');
    await writeFile(file, JSON.stringify({ source: { driver: 'fs', root: 'source' } }));
    await using data = await openDataset(file);
    expect(data.keys).toEqual(KEYS);
  });

  it('reads with what the configuration says of prefetchers, where a call says nothing else', async () => {
    const prefetcher = {
      memory: '1MiB',
      initialProducers: 3,
      concurrency: 5,
      onError: 'skip',
      maxSkipped: 1,
    };
    const file = path.join(directory, 'tiers.json');
    await writeFile(file, JSON.stringify({ source: { driver: 'fs', root: 'source' }, prefetcher }));
    await using data = await openDataset(file);
    /** The producers that reading begins with. */
    const producersOf = async (options?: Parameters<typeof data.epochs>[0]) => {
      const reader = data.epochs(options);
      for (const sample of await reader.take(1)) sample.release();
      await reader.close();
      return reader.profile().decisions[0]?.decision.tuning.producers;
    };
    expect(await producersOf()).toBe(3);
    expect(await producersOf({ producers: 2 }), 'a fixed number is no start').toBe(2);
    expect(await producersOf({ autotuner: adaptiveAutotuner({ initialProducers: 4 }) })).toBe(4);
    expect(await producersOf({ autotuner: undefined, concurrency: undefined })).toBe(3);
    expect(await producersOf({ concurrency: 2 }), 'never more than that').toBe(2);
    const staging = new StagingBuffer({ producers: 7 });
    expect(await producersOf({ staging }), 'a buffer has settings of its own').toBe(7);

    await rm(path.join(source, 'a'));
    const keys: string[] = [];
    for await (const { key } of data.epochs({ shuffle: false })) keys.push(key);
    expect(keys, 'one may be skipped').toEqual(KEYS.slice(1));
    const failing = data.epochs({ shuffle: false, onError: 'throw' });
    await expect(failing.take(1)).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
    await rm(path.join(source, 'b'));
    await expect(
      data.epochs({ shuffle: false, staging }).take(1),
      'of a shared buffer too',
    ).rejects.toMatchObject({
      code: 'TIERED_NOT_FOUND',
    });
  });

  it('takes shares, the model and the settings of prefetchers in code too', async () => {
    const profile = path.join(directory, 'profile.json');
    const read = { points: [[1, 100]] };
    const tiers = [{ name: 'ram', read }];
    await writeFile(
      profile,
      JSON.stringify({ version: 1, objectBytes: 1, source: { name: 'fs', read }, tiers }),
    );
    const options = { source, model: profile, prefetcher: { producers: 6 }, monitor: directory };
    await using data = await openDataset({ ...options, tiers: ['ram:1%'] });
    const all = process.constrainedMemory() || Infinity;
    expect(data.hierarchy.stats().tiers[0]?.quotaBytes).toBe(Math.floor(Math.min(all, os.totalmem()) / 100));
    expect(data.epochs().stats().tuning.producers).toBe(6);
    for (const wrong of [
      { tiers: ['ram:1%', 'ram:1MiB'] },
      { prefetcher: { producers: 0 } },
      { monitor: '' },
    ])
      await expect(openDataset({ ...options, tiers: ['ram:1%'], ...wrong })).rejects.toMatchObject({
        code: 'TIERED_CONFIG_INVALID',
      });
  });

  it('says with the file what its hierarchy refuses', async () => {
    const file = path.join(directory, 'tiers.json');
    const tiers = [{ driver: 'fs', root: 'source/cache', quota: '8MiB' }];
    await writeFile(file, JSON.stringify({ source: { driver: 'fs', root: 'source' }, tiers }));
    await expect(openDataset(file)).rejects.toThrow(`${file}: tiers[0]: its storage is inside source`);
  });

  it('has no marks of directories among its keys', async () => {
    const driver = new MemoryDriver({ name: 'source' });
    for (const [key, bytes] of [
      ['train/', 0],
      ['train/1.jpg', 3],
      ['data/', 3],
    ] as const)
      await driver.write(key, new Uint8Array(bytes), { size: bytes });
    const hierarchy = await new Hierarchy({ source: driver }).open();
    onTestFinished(() => hierarchy.close());
    const data = await Dataset.of(hierarchy, { clock: systemClock, prefetcher: {} });
    expect(data.keys).toEqual(['data/', 'train/1.jpg']);
  });

  it('[V2] does not read what was found gone since', async () => {
    await using data = await openDataset({ source, progress: false });
    await rm(path.join(source, 'b'));
    await data.hierarchy.rescan();
    const keys: string[] = [];
    for await (const { key } of data.epochs({ shuffle: false })) keys.push(key);
    expect(keys).toEqual(['a', 'c/d', 'e']);
  });

  it('leaves nothing open where it fails, and says why', async () => {
    const empty = path.join(directory, 'empty');
    await mkdir(empty);
    await expect(openDataset({ source: empty })).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
    await expect(openDataset({ source: path.join(directory, 'none') })).rejects.toMatchObject({
      code: 'TIERED_UNAVAILABLE',
    });
    await expect(openDataset({ source, tiers: ['ram'] })).rejects.toMatchObject({
      code: 'TIERED_CONFIG_INVALID',
    });
    const reason = new Error('no longer wanted');
    await expect(openDataset({ source, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(await readdir(empty)).toEqual([]);
  });

  it('ends its readers when it is closed', async () => {
    const data = await openDataset({ source });
    const reader = data.epochs({ epochs: 100 });
    await reader.take(1);
    await data.close();
    await data.close();
    await expect(reader.take(1)).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
    await expect(data.hierarchy.read('a')).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
  });

  it('shows no progress of a listing that is done at once', async () => {
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    await using data = await openDataset({ source, progress: terminal });
    expect(data.keys).toHaveLength(4);
    expect(textOf(terminal)).toBe('');
  });
});
