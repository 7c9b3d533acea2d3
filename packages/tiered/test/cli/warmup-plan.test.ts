import { someBytes } from '@tiered/core/testing';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openDataset, type Dataset } from 'tiered';
import { beforeEach, describe, expect, it } from 'vitest';
import { tiered } from './run-tiered.js';

const OBJECTS = 120;
const BYTES = 8192;
const JOB = { seed: 7, epochs: 10, rank: 2, ranks: 4 };
const ORDER = ['--seed', '7', '--epochs', '10', '--workers', '4', '--worker', '2'];
const IMAGES = ['--format', 'image-folder'];

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-warmup-'));
  file = path.join(directory, 'tiers.yaml');
  for (const kind of ['cat', 'dog']) await mkdir(path.join(directory, 'data', kind), { recursive: true });
  for (let i = 0; i < OBJECTS; i++)
    await writeFile(path.join(directory, 'data', i % 2 ? 'cat' : 'dog', `${i}.png`), someBytes(BYTES, i));
  // No sample: it must not shift the numbers of the others.
  await writeFile(path.join(directory, 'data', 'README.md'), 'pictures');
  return () => rm(directory, { recursive: true });
});

/** A configuration with so much memory and disk, in bytes. */
async function configured(memory: number, disk: number, policy = 'planFollower'): Promise<void> {
  const tiers = [
    ...(memory === 0 ? [] : [{ driver: 'memory', quota: memory }]),
    { driver: 'fs', root: './cache', quota: disk },
  ];
  const placement = { policy, chunk: '8KiB' };
  await writeFile(file, JSON.stringify({ source: { driver: 'fs', root: './data' }, tiers, placement }));
}

/** Where the objects are that the disk has. */
async function onDisk(): Promise<string[]> {
  const names = await readdir(path.join(directory, 'cache'), { recursive: true });
  return names
    .filter((name) => name.includes('@'))
    .map((name) => name.split('@')[0] ?? '')
    .sort();
}

/** How often rank 2 of 4 reads each object. */
async function readsOf(data: Dataset): Promise<Map<string, number>> {
  const reads = new Map<string, number>();
  const loader = await data.loader({ format: 'image-folder', batchSize: 5, ...JOB });
  for await (const batch of loader)
    for (const [i, sample] of batch.samples.entries()) {
      const set = batch.setOf(i);
      const key = set?.placeOf(set.recordOf(sample)).key ?? '';
      reads.set(key, (reads.get(key) ?? 0) + 1);
    }
  return reads;
}

describe('a plan for one of several ranks', () => {
  it('[D9] has the objects that the rank of a loader reads most often', async () => {
    await configured(0, 600_000, 'firstFit');
    const { code, out } = await tiered('inspect', 'plan', file, '--keys', ...ORDER, ...IMAGES);
    expect(code).toBe(0);
    const keys = out.trimEnd().split('\n');
    await using data = await openDataset({ source: path.join(directory, 'data'), progress: false });
    const reads = await readsOf(data);
    const most = [...reads.values()].sort((a, b) => b - a).slice(0, keys.length);
    expect(keys.map((key) => reads.get(key) ?? 0).sort((a, b) => b - a)).toEqual(most);
    expect(most.at(-1)).toBeGreaterThan(Math.min(...reads.values()));
  });
});

describe('the worth of objects in a plan', () => {
  const place = (read: number[][]) => ({ name: 'place', read: { points: read } });
  const measured = (points: number[][]) => ({
    version: 1,
    objectBytes: 100_000,
    source: place(points),
    tiers: [place([[1, 1000]])],
  });
  const planned = async () => {
    const order = ['--seed', '7', '--epochs', '3', '--workers', '2', ...IMAGES];
    const { out } = await tiered('inspect', 'plan', file, '--keys', ...order);
    return out.split('\n').filter((key) => key.includes('large')).length;
  };
  beforeEach(async () => {
    for (let i = 0; i < 40; i++)
      await writeFile(path.join(directory, 'data', 'cat', `large${i}.png`), someBytes(20 * BYTES, i));
  });

  it.each([
    ['takes small objects first where nothing was measured', undefined, false],
    [
      'takes them first where latency was measured',
      [
        [1, 5],
        [64, 300],
      ],
      false,
    ],
    [
      'goes by frequency where the source only counts bytes',
      [
        [1, 100],
        [8, 100],
      ],
      true,
    ],
  ])('[D9] %s', async (_, points, hasLarge) => {
    await configured(0, 2 ** 20, 'firstFit');
    if (points !== undefined) {
      const config = JSON.parse(await readFile(file, 'utf8')) as object;
      await writeFile(path.join(directory, 'profile.json'), JSON.stringify(measured(points)));
      await writeFile(file, JSON.stringify({ ...config, model: './profile.json' }));
    }
    expect((await planned()) > 0).toBe(hasLarge);
  });
});

describe('a warmup for a policy that follows plans', () => {
  it('[D9] brings what the training is to have on disk, and leaves its memory to it', async () => {
    const memory = 20 * BYTES;
    await configured(memory, 2 ** 20);
    const { code, out } = await tiered('warmup', file, ...ORDER, ...IMAGES);
    expect(code).toBe(0);
    expect(out).toContain('planned for the tiers: 0 stay in the source');
    expect(await tiered('warmup', file, '--check', ...ORDER, ...IMAGES)).toMatchObject({ code: 0 });
    const before = await onDisk();
    expect(before.length).toBeGreaterThan(20);
    await using data = await openDataset(file);
    const loader = await data.loader({ format: 'image-folder', batchSize: 5, ...JOB, clairvoyant: true });
    for await (const batch of loader) expect(batch.size).toBe(5);
    await data.hierarchy.idle();
    expect(await onDisk()).toEqual(before);
    // Only what memory takes was placed.
    expect(data.hierarchy.stats().tiers[0]?.usedBytes).toBe(memory);
    expect(data.hierarchy.stats().placement.placed).toBe(20);
  });

  it.each([[[]], [['--check']], [['--prefix', 'cat/']]])(
    'says that it has no plan, with %j',
    async (args) => {
      await configured(0, 2 ** 20);
      const { code, messages } = await tiered('warmup', file, ...args);
      expect(code).toBe(2);
      expect(messages).toContain('placement.policy: planFollower needs a plan, and there is none');
      expect(messages).toContain('--seed');
    },
  );

  it.each([
    [['--seed', '1', '--drop-last'], '--batch-size: is missing'],
    [['--seed', '1', '--indexes', 'there'], '--indexes: needs --format'],
    [['--seed', '1', '--format-options', '{}'], '--format-options: needs --format'],
    [['--seed', '1', '--torch', '--format', 'csv'], '--format: cannot be combined with --torch'],
  ])('refuses %j', async (args, message) => {
    await configured(0, 2 ** 20);
    expect(await tiered('warmup', file, ...args)).toMatchObject({
      code: 2,
      messages: expect.stringContaining(message) as string,
    });
  });
});
