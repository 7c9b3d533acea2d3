import { Hierarchy } from '@tiered/core';
import { loadManifest } from '@tiered/core/internal';
import { someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const KEYS = ['a', 'b', 'c/d'];
const isMissing = process.getuid?.() !== 0 || spawnSync('mksquashfs', ['-version']).error !== undefined;

let directory: string;
const at = (...names: string[]) => path.join(directory, ...names);
/** Where something is mounted. Unmounted after each test, however it ended. */
const mounted: string[] = [];

beforeEach(async () => {
  directory = await fs.realpath(await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-')));
  await fs.mkdir(at('data'));
});

afterEach(async () => {
  while (mounted.length > 0) unmount(mounted.at(-1) ?? '');
  await fs.rm(directory, { recursive: true });
});

function mount(image: string, place: string, options = 'loop,ro'): void {
  execFileSync('mount', ['-o', options, image, place]);
  mounted.push(place);
}

function unmount(place: string): void {
  mounted.splice(mounted.indexOf(place), 1);
  execFileSync('umount', [place]);
}

const bytesOf = (key: string, seed: number) => someBytes(5000, seed + KEYS.indexOf(key));

/** An image whose files have the times, sizes and inodes of those of any other one that is made here. */
async function makeImage(name: string, seed: number): Promise<string> {
  await fs.mkdir(at(name, 'c'), { recursive: true });
  for (const key of KEYS) await fs.writeFile(at(name, key), bytesOf(key, seed));
  execFileSync('mksquashfs', [at(name), at(`${name}.img`), '-all-time', '0', '-quiet', '-no-progress']);
  return at(`${name}.img`);
}

/** Reads everything at a place, and says how much the source gave, and what was told. */
async function readAll(seed: number, options: { place?: string; identity?: string; manifest?: string } = {}) {
  const { place = at('data'), identity, manifest } = options;
  const lines: string[] = [];
  const source = new FileSystemDriver({ root: place, identity });
  await using hierarchy = new Hierarchy({
    ...{ source, manifest, placement: new PlacementHandler({ chunk: 1000 }) },
    tiers: [{ driver: new FileSystemDriver({ root: at('tier'), writable: true }), quota: '4MiB' }],
    warn: (line) => lines.push(line.split(/[;(]/, 1)[0]?.replaceAll(directory, '') ?? ''),
  });
  await hierarchy.open();
  for (const key of KEYS)
    expect(Buffer.from(await hierarchy.read(key)).equals(bytesOf(key, seed))).toBe(true);
  await hierarchy.idle();
  return { bytes: hierarchy.stats().source.readBytes, lines, identity: source.identity };
}

const ALL = 5000 * KEYS.length;
const REPLACED = 'fs:/data has other data than tier 0 ';

describe.skipIf(isMissing && process.env['CI'] !== 'true')(
  'another file system at the path of the source (skipped without root and `bash tools/servers/install.sh squashfs`)',
  () => {
    it('[V5] is not served from copies of the one before, which are served when that is back', async () => {
      const [one, other] = [await makeImage('one', 10), await makeImage('other', 20)];
      mount(one, at('data'));
      expect(await readAll(10)).toMatchObject({ bytes: ALL, lines: [] });
      unmount(at('data'));
      mount(other, at('data'));
      expect(await readAll(20)).toMatchObject({ bytes: ALL, lines: [REPLACED] });
      expect(await readAll(20)).toMatchObject({ bytes: 0, lines: [] });
      unmount(at('data'));
      mount(one, at('data'));
      expect(await readAll(10)).toMatchObject({ bytes: 0, lines: [] });
    });

    it('[V5] has other versions in a manifest: the source is listed anew, and that is told', async () => {
      const [one, other] = [await makeImage('one', 10), await makeImage('other', 20)];
      const manifest = at('manifest');
      mount(one, at('data'));
      await readAll(10, { manifest });
      unmount(at('data'));
      mount(other, at('data'));
      const { lines, identity = '' } = await readAll(20, { manifest });
      expect(lines).toEqual(['the manifest /manifest cannot be read ', REPLACED]);
      expect((await loadManifest(manifest, 1, { identity })).known).toBe(KEYS.length);
    });

    it('[V5] is the same data at two places, and in a copied image, if it has one name', async () => {
      const one = await makeImage('one', 10);
      await fs.mkdir(at('elsewhere'));
      mount(one, at('data'));
      expect(await readAll(10, { identity: 'digits-v1' })).toMatchObject({ bytes: ALL });
      await fs.copyFile(one, at('copied.img'));
      mount(at('copied.img'), at('elsewhere'));
      const elsewhere = { place: at('elsewhere'), identity: 'digits-v1' };
      expect(await readAll(10, elsewhere)).toMatchObject({ bytes: 0, lines: [] });
      expect(await readAll(10, { ...elsewhere, identity: 'digits-v2' })).toMatchObject({ bytes: ALL });
    });

    it('[V5] keeps the copies of a disk that is mounted again, and of one that was known by its path', async () => {
      const disk = at('disk.img');
      await fs.writeFile(disk, '');
      await fs.truncate(disk, 2 ** 23);
      execFileSync('mkfs.ext4', ['-q', disk]);
      mount(disk, at('data'), 'loop');
      await fs.mkdir(at('data', 'c'));
      for (const key of KEYS) await fs.writeFile(at('data', key), bytesOf(key, 10));
      const { identity = '' } = await readAll(10);
      expect(identity).toMatch(/#disk-/);
      // As an index was written before file systems were told apart.
      const { default: Database } = await import('libsql');
      const index = new Database(at('tier', '.tiered', 'index.db'));
      index.exec(`UPDATE datasets SET name = substr(name, 1, instr(name, '#') - 1)`);
      index.close();
      expect(await readAll(10)).toMatchObject({ bytes: 0, lines: [], identity });
      unmount(at('data'));
      // As it was: it may still be mounted in the namespace of another process, and then cannot be read-only.
      mount(disk, at('data'), 'loop');
      expect(await readAll(10)).toMatchObject({ bytes: 0, lines: [], identity });
    });

    it('[V5] does not take over copies of an image that was known by its path alone', async () => {
      const [one, other] = [await makeImage('one', 10), await makeImage('other', 20)];
      mount(one, at('data'));
      await readAll(10);
      const { default: Database } = await import('libsql');
      const index = new Database(at('tier', '.tiered', 'index.db'));
      index.exec(`UPDATE datasets SET name = substr(name, 1, instr(name, '#') - 1)`);
      index.close();
      unmount(at('data'));
      mount(other, at('data'));
      expect(await readAll(20)).toMatchObject({ bytes: ALL, lines: [REPLACED] });
    });
  },
);
