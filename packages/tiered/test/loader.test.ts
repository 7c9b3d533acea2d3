import { ManualClock } from '@tiered/core/testing';
import { encodeRecords } from '@tiered/formats/tfrecord';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { openDataset, type Dataset, type DatasetOptions } from 'tiered';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { textOf } from './cli/text-of.js';

const SHARDS = 4;
const RECORDS = 10;
let root: string;

beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'loader-'));
  await mkdir(path.join(root, 'data'));
  for (let shard = 0; shard < SHARDS; shard++) {
    const records = Array.from({ length: RECORDS }, (_, i) => Uint8Array.of(shard, i));
    await writeFile(path.join(root, 'data', `${shard}.tfrecord`), encodeRecords(records));
  }
  return () => rm(root, { recursive: true });
});

async function opened(options: Partial<DatasetOptions> = {}): Promise<Dataset> {
  const data = await openDataset({ source: path.join(root, 'data'), progress: false, ...options });
  onTestFinished(() => data.close());
  return data;
}

describe('the loader of a dataset', () => {
  it('gives the samples in its objects, by the name of their format', async () => {
    const data = await opened();
    const loader = await data.loader<Uint8Array>({ format: 'tfrecord', batchSize: 7, seed: 1 });
    const seen: string[] = [];
    for await (const batch of loader) seen.push(...batch.data.map((bytes) => bytes.join('/')));
    const all = Array.from(
      { length: SHARDS * RECORDS },
      (_, i) => `${Math.floor(i / RECORDS)}/${i % RECORDS}`,
    );
    expect(seen).not.toEqual(all);
    expect(seen.sort()).toEqual(all.sort());
  });

  it('says in a log how far the search for samples is, before there is a batch', async () => {
    const log = new PassThrough();
    const clock = new ManualClock();
    const data = await opened({ progress: log, clock });
    const filter = () => {
      void clock.advance(10_000);
      return true;
    };
    await clock.run(data.loader({ format: 'tfrecord', batchSize: 7, filter }));
    expect(textOf(log)).toMatch(/^finding samples in objects: \d of 4 \(\d+ %\)\n/);
  });

  it('keeps indexes, and ends with the dataset', async () => {
    const indexes = path.join(root, 'indexes');
    const data = await opened();
    const filter = (key: string) => key !== '0.tfrecord';
    const loader = await data.loader({ format: 'tfrecord', batchSize: 1, indexes, filter });
    const [folder = ''] = await readdir(indexes);
    expect(await readdir(path.join(indexes, folder))).toHaveLength(SHARDS - 1);
    await data.close();
    await expect(loader[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
  });

  it('is clairvoyant where the placement follows plans', async () => {
    const tiers = [{ driver: 'memory', quota: '1MiB' } as const];
    const data = await opened({ tiers, placement: { policy: 'planFollower' } });
    const loader = await data.loader({ format: 'tfrecord', batchSize: 4, epochs: 2, clairvoyant: true });
    let batches = 0;
    for await (const batch of loader) batches += batch.size > 0 ? 1 : 0;
    expect(batches).toBe(2 * loader.batchesPerEpoch);
    expect(loader.stats().clairvoyance?.filled).toMatchObject({ placed: [SHARDS] });
    const other = await opened({ tiers });
    await expect(other.loader({ format: 'tfrecord', batchSize: 4, clairvoyant: true })).rejects.toThrow(
      /^clairvoyant: .*planFollower.*got "firstFit"/,
    );
  });

  it('refuses options that do not exist', async () => {
    const data = await opened();
    const mistyped = { format: 'tfrecord', batchSize: 4, epoch: 90 };
    await expect(data.loader(mistyped)).rejects.toThrow(
      'epoch: loader has no such option; did you mean epochs?',
    );
  });

  it('refuses a format that does not exist', async () => {
    const data = await opened();
    await expect(data.loader({ format: 'tfrecords', batchSize: 4 })).rejects.toThrow(
      /^format: expected one of/,
    );
  });
});
