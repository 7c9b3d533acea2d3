import { MemoryDriver, type HierarchyOptions } from '@tiered/core';
import { PrefixDriver } from '@tiered/core/decorators';
import { Interposer } from '@tiered/interpose';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import {
  describeShim,
  makeDataset,
  opensOf,
  run,
  serve,
  temporaryDirectory,
  type Dataset,
} from './helpers.js';

const KEYS = Array.from({ length: 20 }, (_, i) => `Set ${i % 3}/image ${i}.jpg`);

const filesOf = ({ source, keys }: Dataset) => keys.map((key) => path.join(source, key));
const bytesOf = (dataset: Dataset) => Buffer.concat(filesOf(dataset).map((file) => fs.readFileSync(file)));

/** Reads all files of a dataset, and says how many came from where. */
async function readAll(
  interposer: Interposer,
  dataset: Dataset,
): Promise<{ source: number; copies: number }> {
  const { result, source, copies } = await opensOf(interposer, () =>
    run(interposer, 'cat', filesOf(dataset)),
  );
  expect(Buffer.compare(Buffer.from(result, 'latin1'), bytesOf(dataset))).toBe(0);
  return { source, copies };
}

describeShim('an interposer', () => {
  it('[I3] places what programs read, once', async () => {
    const dataset = makeDataset(KEYS);
    const interposer = await serve(dataset);
    expect(await readAll(interposer, dataset)).toEqual({ source: 20, copies: 0 });
    await interposer.idle();
    for (let epoch = 0; epoch < 3; epoch++)
      expect(await readAll(interposer, dataset)).toEqual({ source: 0, copies: 20 });
    const { opens, redirected, most, uncounted, hierarchy } = interposer.stats();
    expect([opens, redirected, most, uncounted]).toEqual([80, 60, 60, 0]);
    expect(hierarchy.source.readBytes).toBe(bytesOf(dataset).byteLength);
  });

  it('[I3] gives programs the copies of the one before it, once they are found right, and asks the source for nothing', async () => {
    const dataset = makeDataset(KEYS);
    const first = await serve(dataset);
    await readAll(first, dataset);
    await first.idle();
    await first.close();
    const damaged = fs
      .readdirSync(dataset.tiers[0] ?? '', { recursive: true, encoding: 'utf8' })
      .find((name) => name.includes('image 7'.replace(' ', '%20')));
    expect(damaged).toBeDefined();
    const file = path.join(dataset.tiers[0] ?? '', damaged ?? '');
    fs.writeFileSync(file, Buffer.from(fs.readFileSync(file)).fill(0, 100, 101));
    const second = await serve(dataset);
    await second.hierarchy.idle();
    await second.idle();
    expect(second.stats().hierarchy.placement.damaged).toBe(1);
    // The damaged copy is gone. Its object may have been placed anew by now, as it was read to be checked.
    const { source, copies } = await readAll(second, dataset);
    expect([source <= 1, source + copies]).toEqual([true, 20]);
    await second.idle();
    expect(await readAll(second, dataset)).toEqual({ source: 0, copies: 20 });
  });

  it('[I3] serves all that two of them place at the same time on one tier', async () => {
    const dataset = makeDataset(KEYS);
    const both = [await serve(dataset), await serve(dataset)];
    await Promise.all(both.map((interposer) => readAll(interposer, dataset)));
    for (const interposer of both) await interposer.idle();
    for (const interposer of both)
      expect(await readAll(interposer, dataset)).toEqual({ source: 0, copies: KEYS.length });
  });

  it('reads what does not fit from the source, in every epoch', async () => {
    const dataset = makeDataset(KEYS, { bytes: 600_000 });
    const interposer = await serve(dataset, { quota: 6_400_000, placement: { chunk: 65_536 } });
    await readAll(interposer, dataset);
    await interposer.idle();
    const epochs = [await readAll(interposer, dataset)];
    await interposer.idle();
    const { readBytes } = interposer.stats().hierarchy.source;
    epochs.push(await readAll(interposer, dataset));
    await interposer.idle();
    // Nor does the daemon fetch anything that it cannot keep.
    expect(interposer.stats().hierarchy.source.readBytes).toBe(readBytes);
    // The index of the tier takes some of its room, and one copy is only the beginning of an object.
    const copies = interposer.stats().hierarchy.placement.placed - 1;
    expect(epochs).toEqual([
      { source: 20 - copies, copies },
      { source: 20 - copies, copies },
    ]);
    expect([copies > 6, copies < 11]).toEqual([true, true]);
  });

  it('[I1] serves files of the year 2300, and says so of them', async () => {
    const dataset = makeDataset(KEYS);
    for (const file of filesOf(dataset)) fs.utimesSync(file, 10_413_792_000, 10_413_792_000);
    const interposer = await serve(dataset);
    expect(await readAll(interposer, dataset)).toEqual({ source: 20, copies: 0 });
    await interposer.idle();
    expect(await readAll(interposer, dataset)).toEqual({ source: 0, copies: 20 });
    const [file = ''] = filesOf(dataset);
    const said = await run(interposer, 'python3', [
      ...['-c', 'import os, sys; print(os.fstat(os.open(sys.argv[1], os.O_RDONLY)).st_mtime_ns)', file],
    ]);
    expect(BigInt(said)).toBe(fs.statSync(file, { bigint: true }).mtimeNs);
    await interposer.close();
  });

  it('takes in what comes into the source, and programs that run already read copies of it', async () => {
    const dataset = makeDataset(KEYS.slice(0, 2));
    const interposer = await serve(dataset);
    const more = Array.from({ length: 3000 }, (_, i) => `more/${i}`);
    fs.mkdirSync(path.join(dataset.source, 'more'));
    for (const key of more) fs.writeFileSync(path.join(dataset.source, key), key);
    const later = { ...dataset, keys: more };
    expect(await readAll(interposer, later)).toEqual({ source: 0, copies: 0 });
    await interposer.rescan();
    expect(await readAll(interposer, later)).toEqual({ source: 3000, copies: 0 });
    await interposer.idle();
    expect(await readAll(interposer, later)).toEqual({ source: 0, copies: 3000 });
  });

  it('may be asked to look again by several at once, and be closed meanwhile', async () => {
    const dataset = makeDataset(KEYS.slice(0, 2));
    const interposer = await serve(dataset);
    const more = Array.from({ length: 3000 }, (_, i) => `more/${i}`);
    fs.mkdirSync(path.join(dataset.source, 'more'));
    for (const key of more.slice(0, 1500)) fs.writeFileSync(path.join(dataset.source, key), key);
    await Promise.all([interposer.rescan(), interposer.rescan(), interposer.rescan()]);
    expect(await readAll(interposer, { ...dataset, keys: more.slice(0, 1500) })).toEqual({
      source: 1500,
      copies: 0,
    });
    for (const key of more.slice(1500)) fs.writeFileSync(path.join(dataset.source, key), key);
    const outcome = interposer.rescan().then(
      () => 'done',
      (error: unknown) => (error as { code?: unknown }).code,
    );
    await interposer.close();
    expect(await outcome).toBe('TIERED_CLOSED');
  });

  it('gives programs no copy of what is another file by now', async () => {
    const dataset = makeDataset(KEYS);
    const interposer = await serve(dataset);
    await readAll(interposer, dataset);
    await interposer.idle();
    const [changed = ''] = filesOf(dataset);
    fs.writeFileSync(changed, 'another file, of another size');
    await interposer.rescan();
    expect(await readAll(interposer, dataset)).toEqual({ source: 1, copies: 19 });
    await interposer.idle();
    expect(await readAll(interposer, dataset)).toEqual({ source: 0, copies: 20 });
    const { mtimeMs } = fs.statSync(changed);
    const said = await run(interposer, 'python3', [
      '-c',
      `import os, sys; print(os.fstat(os.open(sys.argv[1], os.O_RDONLY)).st_mtime_ns // 1000000)`,
      changed,
    ]);
    expect(Number(said)).toBe(Math.floor(mtimeMs));
  });

  it('[I15] finds by itself what others change in the source', async () => {
    const dataset = makeDataset(KEYS);
    const interposer = await serve(dataset, { rescanEveryMs: 20 });
    await readAll(interposer, dataset);
    await interposer.idle();
    const [changed = ''] = filesOf(dataset);
    const dropped = new Promise((resolve) => interposer.hierarchy.once('dropped', resolve));
    fs.writeFileSync(changed, 'another file, of another size');
    await dropped;
    expect(await readAll(interposer, dataset)).toEqual({ source: 1, copies: 19 });
  });

  it('keeps its files from other users', async () => {
    const directory = (await serve(makeDataset(KEYS))).environment()['TIERED_INTERPOSE'] ?? '';
    const modes = ['.', 'table', 'ring', 'socket'].map(
      (name) => fs.statSync(path.join(directory, name)).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600, 0o600, 0o600]);
  });

  it('refuses other paths of a source that is at a root of its own', async () => {
    const options = { hierarchy: { source: new MemoryDriver({ quota: 1000 }) }, root: '/not/there' };
    await expect(Interposer.open({ ...options, aliases: ['/other'] })).rejects.toMatchObject({
      code: 'TIERED_CONFIG_INVALID',
      message: expect.stringMatching(/^aliases: .*together with root/) as string,
    });
  });

  it.each<[string, Partial<HierarchyOptions>, RegExp]>([
    [
      'a source in memory',
      { source: new MemoryDriver({ quota: 1000 }) },
      /^The source, memory, is no directory/,
    ],
    ['no tiers', { tiers: [] }, /^tiers: /],
    [
      'a tier in memory',
      { tiers: [{ driver: new MemoryDriver({ quota: '1GiB' }), quota: '1GiB' }] },
      /^tiers\[0\]\.driver: .*\/dev\/shm/,
    ],
  ])('refuses %s', async (_, options, message) => {
    const { source, tiers } = makeDataset(KEYS);
    const hierarchy: HierarchyOptions = {
      source: new FileSystemDriver({ root: source }),
      tiers: tiers.map((root) => ({ driver: new FileSystemDriver({ root, writable: true }), quota: '1GiB' })),
      placement: new PlacementHandler(),
      ...options,
    };
    await expect(Interposer.open({ hierarchy })).rejects.toMatchObject({
      code: 'TIERED_CONFIG_INVALID',
      message: expect.stringMatching(message) as string,
    });
  });

  it('[I1] refuses tiers whose copies are more than the bytes of the objects', async () => {
    const { source, tiers } = makeDataset(KEYS);
    const driver = new PrefixDriver(
      new FileSystemDriver({ root: tiers[0] ?? '', writable: true }),
      'copies/',
    );
    const hierarchy: HierarchyOptions = {
      source: new FileSystemDriver({ root: source }),
      tiers: [{ driver, quota: '1GiB' }],
      placement: new PlacementHandler(),
    };
    await expect(Interposer.open({ hierarchy })).rejects.toThrow(/^tiers\[0\]\.driver: .*without a prefix/);
  });

  it('refuses packed tiers, paths that lead elsewhere, and directories whose names are too long for a socket', async () => {
    const dataset = makeDataset(KEYS);
    const [root = ''] = dataset.tiers;
    const hierarchy: HierarchyOptions = {
      source: new FileSystemDriver({ root: dataset.source }),
      tiers: [{ driver: new FileSystemDriver({ root, writable: true }), quota: '1GiB', layout: 'packed' }],
      placement: new PlacementHandler(),
    };
    await expect(Interposer.open({ hierarchy })).rejects.toThrow(/^tiers\[0\]\.layout: /);
    await expect(serve(dataset, { aliases: [temporaryDirectory()] })).rejects.toThrow(/^aliases: /);
    await expect(
      serve(dataset, { directory: path.join(temporaryDirectory(), 'x'.repeat(60)) }),
    ).rejects.toThrow(/^directory: /);
  });

  it('knows why nothing was opened, as far as programs can say it', async () => {
    const { source, tiers } = makeDataset(KEYS);
    const interposer = await serve({ source, tiers });
    const seen = () => interposer.stats().programs;
    // A program that it is not loaded into leaves nothing.
    execFileSync('true', { env: { ...interposer.environment(), LD_PRELOAD: '' } });
    expect(seen()).toEqual({ began: false, elsewhere: false, ended: false });
    await run(interposer, 'true', []);
    expect(seen()).toEqual({ began: true, elsewhere: false, ended: false });
    const covered = 'mount -t tmpfs none "$0" && exec true';
    await run(interposer, 'unshare', ['--mount', '--map-root-user', 'sh', '-c', covered, source]);
    expect(seen()).toEqual({ began: true, elsewhere: true, ended: true });
    await interposer.close();
    expect(seen().elsewhere).toBe(true);
  });
});
