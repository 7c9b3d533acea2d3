import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { loadHierarchy } from '@tiered/config';
import { Hierarchy } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { S3Driver } from '@tiered/s3-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fillTiers } from './restart.js';
import { diskUsage } from './training.js';
import { BUCKET, optionsFor, place } from '../packages/s3-adapter/test/helpers.js';

describe('a hierarchy on S3', () => {
  it('[O3] serves awkward keys, each of which has a copy, and no copy leaves the directory of the tier', async () => {
    const keys = [
      'a/../../b',
      '..',
      '../outside',
      '/abs',
      'a//b',
      '.',
      './a',
      'a/',
      'a',
      'plain/c',
      '.tiered/log',
    ];
    const { server } = await place();
    for (const [i, key] of keys.entries()) server.put(BUCKET, key, someBytes(100 + i, i));
    const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
    onTestFinished(() => fs.rm(directory, { recursive: true }));
    await fs.mkdir(path.join(directory, 'deep'));
    const root = path.join(directory, 'deep', 'tier');
    const hierarchy = await new Hierarchy({
      source: new S3Driver({ ...optionsFor(server), writable: false }),
      tiers: [{ driver: new FileSystemDriver({ root, writable: true }), quota: '4MiB' }],
      placement: new PlacementHandler(),
    }).open();
    for (let round = 0; round < 3; round++) {
      for (const [i, key] of keys.entries())
        expect(Buffer.compare(await hierarchy.read(key), someBytes(100 + i, i))).toBe(0);
    }
    await fillTiers({ quotas: [0] }, hierarchy, keys);
    for (const [i, key] of keys.entries()) {
      expect((await hierarchy.stat(key)).level, key).toBe(0);
      expect(Buffer.compare(await hierarchy.read(key), someBytes(100 + i, i))).toBe(0);
    }
    await hierarchy.close();
    expect(diskUsage(root).copies).toHaveLength(keys.length);
    const all = await fs.readdir(directory, { recursive: true });
    expect(all.filter((name) => !name.startsWith('deep/tier'))).toEqual(['deep']);
  });

  it('is made from a configuration, with credentials from elsewhere', async () => {
    const { server } = await place();
    server.createBucket(BUCKET, { public: true });
    server.put(BUCKET, 'train/1', someBytes(100, 1));
    const s3 = { driver: 's3', bucket: BUCKET, endpoint: server.endpoint, anonymous: true, proxy: 'none' };
    const hierarchy = await loadHierarchy({ source: { ...s3, prefix: 'train/', chunk: '8MiB' } });
    await hierarchy.open();
    expect(await hierarchy.read('1')).toHaveLength(100);
    await hierarchy.close();
  });

  it('is refused from a configuration with secrets, or with options that cannot work', async () => {
    for (const options of [
      { bucket: 'data', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } },
      { bucket: 'data', chunk: '1MiB' },
      { bucket: 'data', proxy: 'somewhere' },
      { bucket: 'data', endpoint: 'ftp://host' },
      { endpoint: 'http://host' },
    ]) {
      await expect(loadHierarchy({ source: { driver: 's3', ...options } })).rejects.toMatchObject({
        code: 'TIERED_CONFIG_INVALID',
      });
    }
  });
});
