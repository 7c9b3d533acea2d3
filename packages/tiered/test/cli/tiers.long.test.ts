import { Hierarchy, MemoryDriver } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openDataset } from 'tiered';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tiered } from './run-tiered.js';

const KEYS = ['train/0', 'train/1', 'train/2', 'val/0', 'val/1'];
const BYTES = 10_000;

let directory: string;
let file: string;
const source = () => path.join(directory, 'data');
const cache = () => path.join(directory, 'cache');
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-tiers-'));
  file = path.join(directory, 'tiers.yaml');
  for (const part of ['train', 'val']) await mkdir(path.join(source(), part), { recursive: true });
  for (const [i, key] of KEYS.entries()) await writeFile(path.join(source(), key), someBytes(BYTES, i));
  const tiers = ['--tier', 'ram:2MiB', '--tier', `${cache()}:10MB`];
  expect(await tiered('config', 'init', file, '--source', source(), ...tiers)).toMatchObject({ code: 0 });
});
afterEach(() => rm(directory, { recursive: true }));

/** Reads everything once, so that it is on the disk tier; returns while the training still runs. */
async function trained() {
  const data = await openDataset({ source: source(), tiers: [`${cache()}:10MB`], progress: false });
  for await (const { data: bytes } of data.epochs()) expect(bytes.byteLength).toBe(BYTES);
  await data.hierarchy.idle();
  return data;
}

/** Everything below a directory, without what comes and goes with those who look. */
async function filesOf(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true });
  return entries.filter((name) => !name.startsWith('.tiered')).sort();
}

describe('tiered stats', () => {
  it('is said to Prometheus in its own format', async () => {
    await using data = await trained();
    expect(data.keys).toHaveLength(5);
    const { code, out } = await tiered('stats', file, '--prometheus');
    expect(code).toBe(0);
    const driver = `driver="fs:${cache()}"`;
    expect(out).toContain('# TYPE tiered_tier_quota_bytes gauge');
    expect(out).toContain('tiered_tier_quota_bytes{level="0",driver="memory"} 2097152');
    expect(out).toContain(`tiered_tier_quota_bytes{level="1",${driver}} 10000000`);
    expect(out).toContain(`tiered_tier_members{level="1",${driver},running="true"} 1`);
    expect(out).toContain(`tiered_source_objects{driver="fs:${source()}"} 5`);
    expect(out).toContain('tiered_held_bytes 50000');
    expect((await tiered('stats', file, '--prometheus', '--json')).code).toBe(2);
  });

  it('makes nothing where nothing is', async () => {
    const { code, out } = await tiered('stats', file);
    expect(code).toBe(0);
    expect(out).toContain('tier 0, memory: 2 MiB, in the memory of each process that uses it');
    expect(out).toContain(`tier 1, fs:${cache()}: 9.5 MiB, nothing there yet`);
    expect(await readdir(directory)).toEqual(['data', 'tiers.yaml']);
  });

  it('says what is on a tier that is in use, by whom, and how far from the most', async () => {
    await using data = await trained();
    const { code, out } = await tiered('stats', file);
    expect(code).toBe(0);
    expect(out).toMatch(/^tier 1, .*: .* of 9.5 MiB \(\d %\); the disk has .* free$/m);
    expect(out).toContain(`of file://${source()}/, this source: 5 copies, 48.8 KiB`);
    expect(out).toMatch(/by member [\da-f]{8}, which runs: quota 9.5 MiB/);
    expect(out).toContain(
      'small objects: 100 % have at most 256 KiB. With layout: packed, small copies share',
    );
    expect(out).toContain('optimum: 48.8 KiB (100 %) of this source is on disks and in buckets');
    expect(data.hierarchy.stats().placement).toMatchObject({ placed: 5, outdated: 0 });
    const { tiers, optimum } = JSON.parse((await tiered('stats', file, '--json')).out) as {
      tiers: { summary?: { members: { isRunning: boolean }[] } }[];
      optimum: object;
    };
    expect(tiers[1]?.summary?.members).toMatchObject([{ isRunning: true }]);
    expect(optimum).toEqual({ datasetBytes: 50_000, heldBytes: 50_000, roomBytes: 50_000 });
  });
});

describe('tiered inspect', () => {
  it('says where an object is, in what, and when it is read next', async () => {
    await using data = await trained();
    const { out } = await tiered(
      'inspect',
      'key',
      file,
      'val/1',
      '--seed',
      '7',
      '--epochs',
      '5',
      '--from',
      '1',
    );
    expect(out).toMatch(/^val\/1\n {2}source, .*: 10,000 bytes, version /);
    expect(out).toMatch(/tier 1, .*: a whole copy, current, 1 chunk of .*, in val\/1@/);
    const found = JSON.parse(
      (await tiered('inspect', 'key', file, 'val/1', '--seed', '7', '--epochs', '5', '--from', '1', '--json'))
        .out,
    ) as { accesses: { next: { epoch: number; position: number }[] } };
    const reads: { epoch: number; position: number }[] = [];
    for await (const { key, epoch, position } of data.epochs({ seed: 7, epochs: 5 }))
      if (key === 'val/1' && epoch >= 1) reads.push({ epoch, position });
    expect(found.accesses.next).toEqual(reads.slice(0, 3));
  });

  it('tells a copy of an older version', async () => {
    await (await trained()).close();
    await appendFile(path.join(source(), 'val/1'), 'more');
    const { out } = await tiered('inspect', 'key', file, 'val/1');
    expect(out).toContain('10,004 bytes');
    expect(out).toContain('a whole copy, of another version (');
    expect(await tiered('inspect', 'key', file, 'val/7')).toMatchObject({ code: 1 });
  });

  it('plans what a worker should keep', async () => {
    const plan = await tiered('inspect', 'plan', file, '--seed', '7', '--epochs', '3');
    expect(plan.out).toContain('tier 0, memory: 5 objects, 48.8 KiB (2 % of the quota)');
    expect(plan.out).toContain('source: 0 objects, 0 B');
    await using data = await trained();
    const order: string[] = [];
    for await (const { key } of data.epochs({ seed: 7 })) order.push(key);
    const { out } = await tiered('inspect', 'plan', file, '--seed', '7', '--epochs', '3', '--keys');
    expect(out.trimEnd().split('\n')).toEqual(order);
  });

  it.each([
    [[], '--seed: is missing'],
    [['--epochs', '2'], '--epochs: needs --seed'],
    [['--seed', '1', '--workers', '2', '--drop-last'], '--batch-size: is missing'],
    [['--seed', '1', '--workers', '2', '--worker', '2', '--torch'], '--worker: expected'],
    [['--seed', '1', '--torch', '--batch-size', '2'], '--batch-size: cannot be combined'],
  ])('refuses %j', async (args, message) => {
    const { code, messages } = await tiered('inspect', 'plan', file, ...args);
    expect(messages).toContain(message);
    expect(code).toBe(2);
  });

  it('says what a manifest holds, and that there is none', async () => {
    expect(await tiered('inspect', 'manifest', file)).toMatchObject({ code: 2 });
    await appendFile(file, 'manifest: ./source.manifest\n');
    const none = await tiered('inspect', 'manifest', file);
    expect(none.code).toBe(1);
    expect(none.messages).toContain('the first opening writes it');
    await (await openDataset(file)).close();
    const { code, out } = await tiered('inspect', 'manifest', file);
    expect(code).toBe(0);
    expect(out).toContain('5 objects, 48.8 KiB, of fs:');
    const manifest = path.join(directory, 'source.manifest');
    const bytes = await readFile(manifest);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    await writeFile(manifest, bytes);
    expect(await tiered('inspect', 'manifest', file)).toMatchObject({ code: 1 });
  });
});

describe('tiered verify', () => {
  it('[T6] finds what is not as it was written, and changes nothing', async () => {
    await (await trained()).close();
    const sound = await tiered('verify', file);
    expect(sound).toMatchObject({ code: 0, messages: '' });
    expect(sound.out).toBe(`tier 1, fs:${cache()}: 5 copies, 48.8 KiB: all as written\n`);
    const [name = ''] = (await readdir(path.join(cache(), 'val'))).filter((entry) => entry.startsWith('1@'));
    const copy = path.join(cache(), 'val', name);
    await writeFile(copy, someBytes(BYTES, 99));
    const [lost = ''] = (await readdir(path.join(cache(), 'train'))).filter((entry) =>
      entry.startsWith('0@'),
    );
    await rm(path.join(cache(), 'train', lost));
    const files = await filesOf(cache());
    const { code, out, messages } = await tiered('verify', file);
    expect(code).toBe(1);
    expect(out).toContain('5 copies, 48.8 KiB: 2 wrong');
    expect(out).toMatch(/damaged: .*"val\/1": chunk 0 has another checksum/);
    expect(out).toContain('missing: ');
    expect(messages).toContain('2 copies are not what was written');
    expect(await filesOf(cache())).toEqual(files);
    const found = JSON.parse((await tiered('verify', file, '--json')).out) as { wrong: { key: string }[] }[];
    expect(found[0]?.wrong.map(({ key }) => key).sort()).toEqual(['train/0', 'val/1']);
    expect(await tiered('verify', file, '--level', '0')).toMatchObject({ code: 2 });
  });
});

describe('tiered gc', () => {
  it('says what is of no use, and removes just that', async () => {
    await (await trained()).close();
    await appendFile(path.join(source(), 'val/1'), 'more');
    await rm(path.join(source(), 'val/0'));
    const past = new Date(1e12);
    await utimes(path.join(source(), 'train/2'), past, past);
    const files = await filesOf(cache());
    const dry = await tiered('gc', file, '--dry-run');
    expect(dry.out).toBe(
      `tier 1, fs:${cache()}: would remove 3 copies, 29.3 KiB: 2 of older versions, 1 of objects that the source does not have\n`,
    );
    expect(await filesOf(cache())).toEqual(files);
    const { code, out } = await tiered('gc', file);
    expect(code).toBe(0);
    expect(out).toContain('removed 3 copies');
    const left = (await filesOf(cache()))
      .filter((name) => name.includes('@'))
      .map((name) => name.split('@')[0]);
    expect(left).toEqual(['train/0', 'train/1']);
    expect((await tiered('gc', file, '--dry-run')).out).toContain('would remove 0 copies');
    expect((await tiered('stats', file)).out).toContain('2 copies');
  });
});

describe('a source that is not mounted', () => {
  it('is no reason for gc to remove anything', async () => {
    await (await trained()).close();
    const files = await filesOf(cache());
    await rm(source(), { recursive: true });
    await mkdir(source());
    const { code, messages } = await tiered('gc', file);
    expect(code).toBe(1);
    expect(messages).toContain('Is it mounted');
    expect(await filesOf(cache())).toEqual(files);
  });
});

describe('a tier without room', () => {
  it('takes nothing if it is memory, and is refused if others would have to hold as little', async () => {
    const objects = new MemoryDriver({ name: 'source' });
    await objects.write('a', someBytes(BYTES, 1), { size: BYTES });
    const placement = () => new PlacementHandler();
    await using hierarchy = await new Hierarchy({
      source: objects,
      tiers: [{ driver: new MemoryDriver({ name: 'ram' }), quota: 0 }],
      placement: placement(),
    }).open();
    await hierarchy.read('a');
    expect(await hierarchy.place('a')).toBe(1);
    const shared = new FileSystemDriver({ root: cache(), writable: true });
    expect(
      () => new Hierarchy({ source: objects, tiers: [{ driver: shared, quota: 0 }], placement: placement() }),
    ).toThrow('at least one chunk');
  });
});

describe('tiered warmup', () => {
  const check = (...args: string[]) => tiered('warmup', file, '--check', ...args);

  it('fills the disk and not the memory of a process that ends, and check says what is missing', async () => {
    const before = await check();
    expect(before.code).toBe(1);
    expect(before.out).toBe('0 of 5 objects (0 %) are on tiers; 5 objects, 48.8 KiB, to fetch\n');
    expect(before.messages).toContain('5 objects are on no tier, the first: train/0');
    const { code, out } = await tiered('warmup', file, '--pattern', 'train/**');
    expect(code).toBe(0);
    expect(out).toContain('3 objects: 0 stay in the source; 29.3 KiB fetched');
    expect(await check('--prefix', 'train/')).toMatchObject({ code: 0, messages: '' });
    expect((await check()).out).toContain('3 of 5 objects');
  });

  it('keeps to a budget, and what is there costs nothing of it', async () => {
    const first = await tiered('warmup', file, '--budget', '25kB');
    expect(first.out).toContain(
      '5 objects: 0 stay in the source, 3 objects beyond the budget; 19.5 KiB fetched',
    );
    const second = await tiered('warmup', file, '--budget', '25kB', '--json');
    expect(JSON.parse(second.out)).toMatchObject({ fetchedBytes: 20_000, beyondBudget: 1 });
    expect(await tiered('warmup', file)).toMatchObject({ code: 0 });
    expect(await check()).toMatchObject({ code: 0 });
  });

  it('fails if a tier cannot be filled, and says why', async () => {
    // A directory cannot be where a file is.
    const tier = path.join(source(), 'val/0/cache');
    const other = path.join(directory, 'other.yaml');
    await tiered('config', 'init', other, '--source', path.join(source(), 'train'), '--tier', `${tier}:10MB`);
    const { code, out, messages } = await tiered('warmup', other);
    expect(code).toBe(1);
    expect(out).toContain('3 objects: 3 stay in the source; 0 B fetched');
    expect(messages).toContain(`tier 0, fs:${tier}, could not be filled: `);
    expect(messages).not.toContain('Listen to the event');
  });

  it('says why objects stay in the source, and of how many there is a plan', async () => {
    const other = path.join(directory, 'other.yaml');
    await tiered('config', 'init', other, '--source', source(), '--tier', `${cache()}:1500kB`);
    for (const key of ['val/2', 'val/3']) await writeFile(path.join(source(), key), someBytes(900_000, 9));
    const planned = await tiered('warmup', other, '--seed', '3');
    const all = await tiered('warmup', other);
    expect(planned).toMatchObject({ code: 0 });
    expect(planned.out).toContain(
      '6 of 7 objects are planned for the tiers: 0 stay in the source; 927.7 KiB',
    );
    expect(all.out).toContain('7 objects: 1 stays in the source, as no tier has room; 0 B fetched');
  });

  it('takes keys from a file, and the order of a training from its seed', async () => {
    const keys = path.join(directory, 'keys.txt');
    await writeFile(keys, 'val/1\ntrain/0\n');
    expect((await tiered('warmup', file, '--keys', keys)).out).toContain('2 objects: 0 stay');
    const plan = (await tiered('inspect', 'plan', file, '--seed', '3', '--keys')).out.trimEnd().split('\n');
    await rm(cache(), { recursive: true });
    await tiered('warmup', file, '--seed', '3', '--budget', '20kB');
    const placed = (await filesOf(cache()))
      .filter((name) => name.includes('@'))
      .map((name) => name.split('@')[0]);
    expect(placed).toEqual(plan.slice(0, 2).sort());
    const both = await tiered('warmup', file, '--keys', keys, '--seed', '3');
    expect(both.messages).toContain('--keys: cannot be combined with --seed');
    expect(both.code).toBe(2);
    expect(await tiered('warmup', file, '--prefix', 'nothing/')).toMatchObject({ code: 2 });
    for (const idle of [['--epochs', '1'], ['--torch']]) {
      const messages = `${idle[0]}: needs --seed, which decides the order\n`;
      expect(await tiered('warmup', file, ...idle)).toMatchObject({ code: 2, messages });
      expect(await tiered('inspect', 'key', file, 'val/0', ...idle)).toMatchObject({ code: 2, messages });
    }
  });
});
