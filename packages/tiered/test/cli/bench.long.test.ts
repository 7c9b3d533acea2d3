import { someBytes } from '@tiered/core/testing';
import { S3Server } from '@tiered/s3-server';
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { BenchResult } from '../../src/benchmark/result.js';
import { snapshotOf } from '../doctor/snapshot.js';
import { interruptedAt, MEASURED, MEASURED_UNTIL_SIGINT } from './interrupted.js';
import { tiered } from './run-tiered.js';

const OBJECTS = 40;
const BYTES = 10_000;
const BUDGET = ['--seconds', '1', '--bytes', '50MB'];
const BIN = path.join(import.meta.dirname, '../../bin/tiered.js');

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-bench-test-'));
  file = path.join(directory, 'tiers.json');
  await mkdir(path.join(directory, 'data/train'), { recursive: true });
  for (let i = 0; i < OBJECTS; i++)
    await writeFile(path.join(directory, `data/train/${i}`), someBytes(BYTES, i));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

const SOURCE = { driver: 'fs', root: 'data' };
const CACHE = { driver: 'fs', root: 'cache', quota: '10MB' };
const configure = (config: object) => writeFile(file, JSON.stringify(config));

async function measured(): Promise<BenchResult & { readonly advice: string[] }> {
  const { code, out, messages } = await tiered('bench', file, ...BUDGET, '--json');
  expect({ code, messages }).toEqual({ code: 0, messages: expect.stringMatching(MEASURED) });
  return JSON.parse(out) as BenchResult & { advice: string[] };
}

describe('tiered bench', () => {
  it('measures source, tiers and epochs, and touches no tier', async () => {
    await configure({ source: SOURCE, tiers: [{ driver: 'memory', quota: '1MiB' }, CACHE] });
    expect((await tiered('warmup', file)).code).toBe(0);
    const before = await snapshotOf(directory);
    const { sample, places, leftOut, epochs, advice } = await measured();
    // The directory itself had another one in it for a while.
    expect((await snapshotOf(directory)).slice(1)).toEqual(before.slice(1));
    expect(sample).toEqual({ objects: OBJECTS, bytes: OBJECTS * BYTES, listed: OBJECTS });
    expect(places.map(({ name, kind }) => [name, kind])).toEqual([
      ['source', 'source'],
      ['tier 0', 'memory'],
      ['tier 1', 'files'],
    ]);
    for (const { best, bound, read } of places) {
      expect(read.map(([n]) => n)).toEqual([1, 2, 4, 8, 16, 32]);
      expect(best.MBps).toBeGreaterThan(0);
      expect(bound.MBps).toBeGreaterThan(0);
    }
    expect(leftOut).toEqual([]);
    const [first, later] = epochs;
    expect(first).toMatchObject({ name: '0', whole: 1, samples: OBJECTS, sourceBytes: OBJECTS * BYTES });
    expect(later).toMatchObject({ samples: OBJECTS * (later?.whole ?? 0), sourceBytes: 0 });
    for (const one of epochs) expect(one.share).toBeGreaterThan(0);
    expect(advice.at(-1)).toContain(`${OBJECTS} of the ${OBJECTS} objects`);
  });

  it('says it in tables and sentences, also of a tier that is not there yet', async () => {
    await configure({ source: { ...SOURCE, prefix: 'train/' }, tiers: [{ ...CACHE, root: 'new/cache' }] });
    const { code, out } = await tiered('bench', file, ...BUDGET);
    expect(code).toBe(0);
    for (const told of [
      'source, data/train',
      'tier 0, new/cache',
      'epoch 0',
      'source gives',
      'The epochs read',
    ])
      expect(out).toContain(told);
    expect((await readdir(directory)).sort()).toEqual(['data', 'tiers.json']);
  });

  it('measures a bucket as a source, and leaves out one that is a tier', async () => {
    const server = await S3Server.start();
    onTestFinished(() => server.close());
    server.createBucket('data');
    server.createBucket('cache');
    for (let i = 0; i < 8; i++) server.put('data', `${i}`, someBytes(BYTES, i));
    vi.stubEnv('AWS_ACCESS_KEY_ID', server.credentials.accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', server.credentials.secretAccessKey);
    const bucket = { driver: 's3', endpoint: server.endpoint, proxy: 'none' };
    const cache = { ...bucket, bucket: 'cache', quota: '1GB' };
    await configure({
      source: { ...bucket, bucket: 'data' },
      tiers: [cache, { driver: 'memory', quota: '1MiB' }],
      // Means tiers by their numbers, and there is one less.
      placement: { policy: { name: 'pinned', pins: [{ pattern: '**', level: 1 }] } },
    });
    const { sample, places, leftOut, epochs, advice } = await measured();
    expect(places.map(({ name, bound }) => [name, bound.by])).toEqual([
      ['source', 'its driver alone'],
      ['tier 1', 'copying in memory'],
    ]);
    expect(leftOut).toEqual([{ name: 'tier 0', reason: expect.stringContaining('tiered calibrate') }]);
    expect(advice.join('\n')).toContain('tier 0 was not measured');
    expect(epochs.map(({ sourceRequests }) => sourceRequests)).toEqual([sample.objects, 0]);
    expect(Object.keys(epochs[0]?.from ?? {})).toEqual(['tier 1', 'source']);
    expect(server.keys('cache')).toEqual([]);
  });

  it('refuses what cannot work, and leaves nothing then', async () => {
    await configure({ source: { ...SOURCE, root: 'gone' }, tiers: [CACHE] });
    expect((await tiered('bench', file)).code).toBe(1);
    await mkdir(path.join(directory, 'gone'));
    const empty = await tiered('bench', file);
    expect(empty.code).toBe(2);
    expect(empty.messages).toContain('objects that are not empty');
    await configure({
      source: SOURCE,
      tiers: [
        { ...CACHE, quota: '1kB' },
        { driver: 'memory', quota: '1kB' },
      ],
    });
    const { leftOut } = await measured();
    expect(leftOut.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('no room for two objects'),
      expect.stringContaining('no room for two objects'),
    ]);
    await configure({ source: SOURCE, tiers: [{ ...CACHE, quota: '1GB' }], placement: { chunk: '64MiB' } });
    expect((await measured()).leftOut).toHaveLength(1);
    for (const wrong of [
      ['--seconds', 'few'],
      ['--bytes', 'many'],
    ] as const)
      expect((await tiered('bench', file, ...wrong)).code).toBe(2);
    expect((await readdir(directory)).sort()).toEqual(['data', 'gone', 'tiers.json']);
  });

  it('that is interrupted leaves nothing', async () => {
    await configure({ source: SOURCE, tiers: [CACHE] });
    const ended = await interruptedAt(directory, '.tiered-bench-', ['bench', file, '--seconds', '600']);
    expect(ended).toEqual({ code: 130, out: '', messages: expect.stringMatching(MEASURED_UNTIL_SIGINT) });
    expect((await readdir(directory)).sort()).toEqual(['data', 'tiers.json']);
  });
});

/** A mount namespace of one's own, gone with its last process; some containers forbid it even to root. */
const canMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', os.tmpdir()]).status === 0;

describe.skipIf(!canMount && process.env['CI'] !== 'true')(
  'a tier that is a mount (needs unshare -rm)',
  () => {
    it('is measured in its own private part, and stays as it is', async () => {
      await mkdir(path.join(directory, 'cache'));
      await configure({ source: SOURCE, tiers: [{ ...CACHE, quota: '10MB' }] });
      const script = [
        'mount -t tmpfs -o size=64m tmpfs "$0/cache" && cd "$0"',
        '"$1" "$2" warmup tiers.json && find cache | sort >before',
        `"$1" "$2" bench tiers.json ${BUDGET.join(' ')} --json >result`,
        'find cache | sort >after',
      ].join(' && ');
      await promisify(execFile)('unshare', ['-rm', 'sh', '-c', script, directory, process.execPath, BIN]);
      const [before, after, result] = await Promise.all(
        ['before', 'after', 'result'].map((name) => readFile(path.join(directory, name), 'utf8')),
      );
      expect(after).toBe(before);
      expect(before).toContain('.tiered/index.db');
      const { places } = JSON.parse(result ?? '') as BenchResult;
      expect(places.map(({ name }) => name)).toEqual(['source', 'tier 0']);
    });
  },
);
