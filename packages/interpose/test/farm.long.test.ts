import { settled } from '@tiered/core/testing';
import { lru } from '@tiered/tiering';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeDataset, serve, temporaryDirectory, type Dataset } from './helpers.js';

const KEYS = ['a.bin', 'Train/Image 1.JPG', 'train/é.png', 'deep/er/b.bin'];

/** Files and links below a directory, by path, with what links lead to. */
function listOf(directory: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of fs.readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    if (name.startsWith('.tiered-farm/session')) continue;
    const stat = fs.lstatSync(path.join(directory, name));
    if (stat.isSymbolicLink()) found[name] = fs.readlinkSync(path.join(directory, name));
    else if (!stat.isDirectory()) found[name] = 'no link';
  }
  return found;
}

const toSource = ({ source, keys }: Dataset) =>
  Object.fromEntries(keys.map((key) => [key, path.join(source, key)]));

/** What `cat` reads by the farm, without any shim. */
const read = (farm: string, keys: readonly string[]) =>
  keys.map((key) => execFileSync('cat', [path.join(farm, key)]));

const bytesOf = ({ contents, keys }: Dataset) => keys.map((key) => contents.get(key));

describe('a farm of links', () => {
  it('[I10] leads to copies where there are some, and to the source at the end', async () => {
    const dataset = makeDataset(KEYS);
    const farm = path.join(temporaryDirectory(), 'farm');
    const interposer = await serve(dataset, { farm });
    expect(read(farm, KEYS)).toEqual(bytesOf(dataset));
    await interposer.idle();
    expect(interposer.stats().farm).toMatchObject({ links: 4, toCopies: 4, wrong: 0 });
    const links = Object.values(listOf(farm));
    expect(links.map((link) => path.dirname(link).startsWith(dataset.tiers[0] ?? 'none'))).toEqual([
      ...[true, true, true, true],
    ]);
    expect(read(farm, KEYS)).toEqual(bytesOf(dataset));
    await interposer.close();
    expect(listOf(farm)).toEqual(toSource(dataset));
  });

  it('takes in what comes later', async () => {
    const dataset = makeDataset(KEYS);
    const farm = path.join(temporaryDirectory(), 'farm');
    const interposer = await serve(dataset, { farm });
    fs.mkdirSync(path.join(dataset.source, 'new'));
    fs.writeFileSync(path.join(dataset.source, 'new/c.bin'), 'later');
    await interposer.rescan();
    await interposer.idle();
    expect(interposer.stats().farm).toMatchObject({ links: 5, toCopies: 5 });
    expect(read(farm, ['new/c.bin']).toString()).toBe('later');
  });

  it('[I10] is filled as far as there is room, in the order of a plan', async () => {
    const dataset = makeDataset(['1', '2', '3', '4', '5']);
    const bytesOf = (key: string) => Buffer.alloc(500_000, key);
    for (const key of dataset.keys) fs.writeFileSync(path.join(dataset.source, key), bytesOf(key));
    const farm = path.join(temporaryDirectory(), 'farm');
    async function* plan() {
      yield* ['5', '4', '2', '3', '1'];
    }
    const interposer = await serve(dataset, { farm, quota: '2MiB', plan: plan() });
    await interposer.idle();
    const links = listOf(farm);
    const placed = dataset.keys.filter((key) => links[key] !== path.join(dataset.source, key));
    expect(placed).toEqual(['2', '4', '5']);
    expect(read(farm, dataset.keys)).toEqual(dataset.keys.map(bytesOf));
  });

  it('[I10] takes over what a daemon left that was killed', async () => {
    const dataset = makeDataset(KEYS);
    const farm = path.join(temporaryDirectory(), 'farm');
    await (await serve(dataset, { farm })).close();
    // A link to a copy that is gone; one of an object that is gone, in a directory of its own; a file that
    // became a directory, into which a link would be made by way of the old one.
    fs.rmSync(path.join(farm, 'a.bin'));
    fs.symlinkSync(path.join(dataset.tiers[0] ?? '', 'a.bin@00000000'), path.join(farm, 'a.bin'));
    fs.mkdirSync(path.join(farm, 'old'));
    fs.symlinkSync(path.join(dataset.source, 'old/gone'), path.join(farm, 'old/gone'));
    fs.symlinkSync(path.join(dataset.source, 'was-file'), path.join(farm, 'was-file'));
    fs.symlinkSync('nowhere', path.join(farm, '.tiered-farm/next'));
    fs.mkdirSync(path.join(dataset.source, 'was-file'));
    fs.writeFileSync(path.join(dataset.source, 'was-file/inside'), 'inside');
    const interposer = await serve(dataset, { farm });
    await interposer.close();
    const inside = path.join(dataset.source, 'was-file/inside');
    expect(listOf(farm)).toEqual({ ...toSource(dataset), 'was-file/inside': inside });
    expect(fs.existsSync(path.join(farm, 'old'))).toBe(false);
    expect(fs.readdirSync(path.join(dataset.source, 'was-file'))).toEqual(['inside']);
  });

  it('is not made where something else is, or where another daemon changes it', async () => {
    const dataset = makeDataset(KEYS);
    const above = temporaryDirectory();
    const refused = async (farm: string) =>
      expect(serve(dataset, { farm })).rejects.toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
    fs.mkdirSync(path.join(above, 'used'));
    fs.writeFileSync(path.join(above, 'used/file'), 'mine');
    await refused(path.join(above, 'used'));
    expect(fs.readdirSync(path.join(above, 'used'))).toEqual(['file']);
    await refused(dataset.source);
    await refused(path.join(dataset.source, 'not/there'));
    await refused(path.join(dataset.tiers[0] ?? '', 'farm'));
    await refused(path.dirname(dataset.source));
    fs.symlinkSync(dataset.source, path.join(above, 'link'));
    await refused(path.join(above, 'link/farm'));

    const farm = path.join(above, 'farm');
    const first = await serve(dataset, { farm });
    await refused(farm);
    await first.close();
    fs.rmSync(path.join(farm, 'a.bin'));
    fs.writeFileSync(path.join(farm, 'a.bin'), 'mine');
    await refused(farm);
    expect(fs.readFileSync(path.join(farm, 'a.bin'), 'utf8')).toBe('mine');
  });

  it('[I10] counts links that it could not change, and changes them when it can', async () => {
    const dataset = makeDataset(KEYS);
    const farm = path.join(temporaryDirectory(), 'farm');
    const interposer = await serve(dataset, { farm });
    await interposer.idle();
    const [mark, away] = [path.join(farm, '.tiered-farm'), path.join(farm, '.away')];
    fs.renameSync(mark, away);
    // The copy is one of an older version now.
    fs.writeFileSync(path.join(dataset.source, 'a.bin'), 'newer');
    await interposer.rescan();
    expect(interposer.stats().farm).toMatchObject({ wrong: 1, toCopies: 4 });
    await interposer.idle();
    expect(interposer.stats().farm).toMatchObject({ wrong: 1, toCopies: 4 });
    fs.renameSync(away, mark);
    await interposer.rescan();
    // It has a copy of the new version by now.
    expect(interposer.stats().farm).toMatchObject({ wrong: 0, toCopies: 4 });
    expect(read(farm, ['a.bin']).toString()).toBe('newer');
  });

  it('[I10] gives no wrong byte while copies come and go, and always has a link', async () => {
    const keys = Array.from({ length: 24 }, (_, i) => `file ${i}`);
    const dataset = makeDataset(keys, { bytes: 40_000 });
    const farm = path.join(temporaryDirectory(), 'farm');
    const chunk = 2 ** 16;
    const interposer = await serve(dataset, { farm, quota: 8 * chunk, placement: { policy: lru, chunk } });
    await interposer.idle();
    const tier = dataset.tiers[0] ?? 'none';
    let readOnTier = 0;
    for (let round = 0; round < 40; round++) {
      let isPlaced = false;
      // Each copy that comes drives another one out.
      const placing = Promise.all(keys.map((key) => interposer.hierarchy.place(key))).finally(
        () => (isPlaced = true),
      );
      while (!isPlaced) {
        await settled();
        for (const key of keys) {
          // The links are changed in this thread, so nothing comes between these calls. What a link leads to
          // is there, although copies are deleted all the time: the link leaves them before.
          const file = path.join(farm, key);
          if (fs.readlinkSync(file).startsWith(`${tier}/`)) readOnTier += 1;
          expect(Buffer.compare(fs.readFileSync(file), dataset.contents.get(key) ?? Buffer.alloc(0))).toBe(0);
        }
      }
      await placing;
    }
    expect(readOnTier).toBeGreaterThan(100);
    const { hierarchy, farm: counts } = interposer.stats();
    expect(hierarchy.placement.evicted).toBeGreaterThan(20);
    expect(counts).toMatchObject({ links: 24, wrong: 0 });
  });
});
