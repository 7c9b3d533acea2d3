import { encodeRecords } from '@tiered/formats/tfrecord';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tiered } from './run-tiered.js';

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-index-'));
  file = path.join(directory, 'tiers.json');
  await mkdir(path.join(directory, 'data/val'), { recursive: true });
  const shard = encodeRecords([new Uint8Array(10), new Uint8Array(20)]);
  for (const name of ['a.tfrecord', 'b.tfrecord', 'val/c.tfrecord'])
    await writeFile(path.join(directory, 'data', name), shard);
  const source = { driver: 'fs', root: 'data' };
  const tiers = [{ driver: 'fs', root: 'cache', quota: '1MiB' }];
  await writeFile(file, JSON.stringify({ source, tiers }));
});
afterEach(() => rm(directory, { recursive: true }));

const index = (...args: string[]) =>
  tiered('index', file, '--format', 'tfrecord', '--out', path.join(directory, 'indexes'), ...args);

describe('tiered index', () => {
  it('keeps the indexes of all objects, and reads those alone that it does not have', async () => {
    const { code, out } = await index('--json');
    expect(code).toBe(0);
    const found = { format: 'tfrecord', objects: 3, records: 6, samples: 6, bytes: 3 * 62, skipped: 0 };
    expect(JSON.parse(out)).toMatchObject(found);
    expect(JSON.parse((await index('--json')).out)).toMatchObject({ ...found, reads: 0, readBytes: 0 });
    const [folder = ''] = await readdir(path.join(directory, 'indexes'));
    expect(await readdir(path.join(directory, 'indexes', folder))).toHaveLength(3);
    expect(await readdir(directory), 'the tiers are left alone').not.toContain('cache');
  });

  it('says in words what it found', async () => {
    expect((await index('--pattern', 'val/**')).out).toBe(
      '2 samples of 62 B in 1 object\nread for that: 62 B, in 1 request\n',
    );
  });

  it('says what it left out', async () => {
    await writeFile(path.join(directory, 'data/README.md'), 'about');
    expect((await index('--pattern', 'val/**')).out).toBe(
      '2 samples of 62 B in 1 object\nread for that: 62 B, in 1 request\nleft out: 1 object without samples\n',
    );
    expect(JSON.parse((await index('--json')).out)).toMatchObject({ objects: 3, leftOut: 1 });
  });

  it('fails for damage, or skips it and says so', async () => {
    const damaged = path.join(directory, 'data/b.tfrecord');
    const bytes = await readFile(damaged);
    await writeFile(damaged, bytes.subarray(0, -1));
    const failed = await index();
    expect([failed.code, failed.messages]).toEqual([1, expect.stringContaining('b.tfrecord, byte 26')]);
    const skipped = await index('--skip-damaged');
    expect(skipped.code).toBe(0);
    expect(skipped.messages).toContain('skipped: b.tfrecord');
    expect(skipped.out).toContain('left out: 1 damaged record\n');
  });

  it('refuses what cannot work', async () => {
    expect((await tiered('index', file, '--format', 'zip', '--out', 'x')).code).toBe(2);
    expect((await index('--options', 'gzip')).code).toBe(2);
    expect((await index('--options', '{"compression":"lzma"}')).code).toBe(2);
    expect((await tiered('index', file, '--format', 'tfrecord')).messages).toContain('--out');
  });
});
