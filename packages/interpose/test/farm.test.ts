import { MetadataContainer } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { Farm } from '../src/daemon/farm.js';
import type { Place } from '../src/table/layout.js';
import { temporaryDirectory } from './helpers.js';

const { signal } = new AbortController();

async function farmOf(keys: readonly string[]) {
  const above = temporaryDirectory();
  const directory = path.join(above, 'farm');
  const namespace = new MetadataContainer(1);
  for (const key of keys) namespace.put({ key, size: 1, version: '1' });
  const places = new Map<number, Place>();
  const parts = {
    directory,
    session: path.join(above, 'session'),
    root: path.join(above, 'source'),
    tiers: [path.join(above, 'tier')],
    namespace,
    placeOf: (id: number) => places.get(id),
  };
  const farm = new Farm(parts, new ManualClock());
  await farm.grow(signal);
  const move = (id: number, place: Place | undefined) => {
    if (place === undefined) places.delete(id);
    else places.set(id, place);
    farm.moved(id, place);
  };
  return { above, directory, farm, move, at: (key: string) => path.join(directory, key) };
}

it('[I10] a file that somebody put where a link was stays, and is counted until it is gone', async () => {
  const { farm, move, at, above } = await farmOf(['a', 'b']);
  fs.rmSync(at('a'));
  fs.writeFileSync(at('a'), 'mine');
  move(0, { level: 0, tag: 1 });
  move(1, { level: 0, tag: 2 });
  expect(fs.readFileSync(at('a'), 'utf8')).toBe('mine');
  expect(farm.counts).toMatchObject({ wrong: 1, toCopies: 1 });
  expect(farm.counts.lastError).toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
  // A link that is not there is made.
  fs.rmSync(at('a'));
  farm.repair();
  expect(path.dirname(fs.readlinkSync(at('a')))).toBe(path.join(above, 'tier'));
  expect(farm.counts).toMatchObject({ wrong: 0, toCopies: 2 });
  fs.rmSync(at('a'));
  fs.writeFileSync(at('a'), 'mine again');
  await farm.close();
  expect(fs.readFileSync(at('a'), 'utf8')).toBe('mine again');
  expect(fs.readlinkSync(at('b'))).toBe(path.join(above, 'source', 'b'));
});

it('[I10] links that can be changed have their turn, however many others cannot', async () => {
  const count = 2500;
  const { farm, move, at } = await farmOf(Array.from({ length: count }, (_, i) => `${i}`));
  for (let id = 0; id < count; id++) {
    fs.rmSync(at(`${id}`));
    fs.writeFileSync(at(`${id}`), '');
    move(id, { level: 0, tag: id });
  }
  expect(farm.counts).toMatchObject({ wrong: count, toCopies: 0 });
  fs.rmSync(at('2400'));
  for (let time = 0; time < 3; time++) farm.repair();
  expect(farm.counts).toMatchObject({ wrong: count - 1, toCopies: 1 });
});

it.each([
  ['the group', 0o775],
  ['all', 0o757],
])('a farm is refused that %s may write into', async (_, mode) => {
  const above = temporaryDirectory();
  const open = (directory: string) =>
    new Farm({
      directory,
      session: path.join(above, 'session'),
      root: path.join(above, 'source'),
      tiers: [],
      namespace: new MetadataContainer(0),
      placeOf: () => undefined,
    });
  const empty = path.join(above, 'empty');
  fs.mkdirSync(empty);
  fs.chmodSync(empty, mode);
  expect(() => open(empty)).toThrow(/^farm: .*chmod go-w/);
  expect(fs.readdirSync(empty)).toEqual([]);
  const { directory, farm } = await farmOf(['a']);
  await farm.close();
  fs.chmodSync(directory, mode);
  expect(() => open(directory)).toThrow(/^farm: .*chmod go-w/);
  fs.chmodSync(directory, 0o755);
  open(directory);
});

it.runIf(process.getuid?.() === 0)('a farm of another user is refused', () => {
  const directory = temporaryDirectory();
  fs.chownSync(directory, 65534, 65534);
  const open = () =>
    new Farm({
      directory,
      session: '/session',
      root: '/not/there',
      tiers: [],
      namespace: new MetadataContainer(0),
      placeOf: () => undefined,
    });
  expect(open).toThrow(/^farm: .*of user 65534/);
});
