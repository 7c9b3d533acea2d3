import { MemoryDriver } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { knowing, sourceOf } from '../helpers.js';
import { errorWith, RANGE, rangesWorkers, readWhole, type RangesWorker } from './helpers.js';

/** One object of 30 ranges, the last one short, one of a range, and a small one. */
const OBJECTS = new Map([
  ['large', someBytes(30 * RANGE - 1, 1)],
  ['d/one', someBytes(RANGE, 2)],
  ['d/small', someBytes(99, 3)],
  ['d/none', new Uint8Array(0)],
]);
const LARGE = OBJECTS.get('large') ?? new Uint8Array(0);
const total = [...OBJECTS.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);

const sourceBytes = (all: readonly RangesWorker[]) => all.reduce((sum, one) => sum + one.sourceBytes(), 0);
const readByAll = (all: readonly RangesWorker[]) => Promise.all(all.map((one) => readWhole(one, OBJECTS)));
const idle = (all: readonly RangesWorker[]) => Promise.all(all.map(({ keeper }) => keeper.idle()));
const usedBytes = ({ keeper }: RangesWorker) => keeper.stats().tiers[0]?.usedBytes ?? 0;

describe('A large object of several workers', () => {
  it('[Z3] [Z10] is read from the source once, all reading it at the same time, and kept in shares', async () => {
    const all = await rangesWorkers(3, { source: await sourceOf(OBJECTS) });
    await readByAll(all);
    await idle(all);
    expect(sourceBytes(all)).toBe(total);
    // Each is the home of ranges, and keeps no others.
    expect(all.map(usedBytes).reduce((sum, bytes) => sum + bytes)).toBe(total);
    for (const one of all) expect(usedBytes(one)).toBeGreaterThan(total / 6);
    await readByAll(all);
    expect(sourceBytes(all)).toBe(total);
  });

  it('[Z2] is read with the smallest limits, by many at once, while all wait for each other', async () => {
    const all = await rangesWorkers(3, { source: await sourceOf(OBJECTS), isTight: true });
    const reads = Array.from({ length: 20 }, () => readByAll(all));
    await Promise.all(reads);
  });

  it('[Z2] is read by workers that have no room', async () => {
    const all = await rangesWorkers(2, { source: await sourceOf(OBJECTS), quota: 0 });
    await readByAll(all);
  });

  it('[N1] [Z2] [Z7] is read from the source as far as its homes have left', async () => {
    const all = await rangesWorkers(3, { source: await sourceOf(OBJECTS) });
    await readByAll(all);
    await idle(all);
    const [gone, ...left] = all;
    if (gone === undefined) throw new Error('no worker');
    const lost = usedBytes(gone);
    await gone.close();
    await Promise.all(left.map(({ cluster }) => knowing(cluster, 1)));
    const before = sourceBytes(left);
    await readByAll(left);
    // With `size` nobody else is the home of what is gone.
    expect(sourceBytes(left) - before).toBe(lost * left.length);
  });

  it('[Z1] [Z10] is of one version: the present one, whichever ranges others keep', async () => {
    const source = await sourceOf(OBJECTS);
    const all = await rangesWorkers(3, { source });
    await readByAll(all);
    const changed = new Map(OBJECTS).set('large', someBytes(25 * RANGE + 7, 4));
    for (const [key, bytes] of changed) await source.write(key, bytes, { size: bytes.byteLength });
    for (const one of all) {
      await one.hierarchy.rescan();
      await readWhole(one, changed);
    }
  });

  it('[Z1] is looked up again by a reader that knows an older version', async () => {
    const source = await sourceOf(OBJECTS);
    const all = await rangesWorkers(2, { source });
    await readByAll(all);
    const changed = new Map(OBJECTS).set('large', someBytes(LARGE.byteLength, 5));
    await source.write('large', changed.get('large') ?? LARGE, { size: LARGE.byteLength });
    // The keepers know, and the readers do not.
    for (const { keeper } of all) await keeper.rescan();
    for (const one of all) await readWhole(one, changed);
  });

  it('[Z1] [Z10] is not put together of two versions', async () => {
    const source = await sourceOf(OBJECTS);
    const [one] = await rangesWorkers(1, { source });
    if (one === undefined) throw new Error('no worker');
    const { version } = await one.joined.stat('large', {});
    await one.hierarchy.read('large', { length: RANGE });
    await source.write('large', LARGE.toReversed(), { size: LARGE.byteLength });
    const read = one.joined.read('large', { offset: 0, length: 2 * RANGE, version });
    await expect(read).rejects.toThrow(errorWith('TIERED_SOURCE_CHANGED'));
  });

  it('[Z1] [Z10] is no shorter for a reader of an older version once it is shorter in the source', async () => {
    const source = await sourceOf(OBJECTS);
    const [one] = await rangesWorkers(1, { source });
    if (one === undefined) throw new Error('no worker');
    const { version } = await one.joined.stat('large', {});
    await source.write('large', LARGE.subarray(0, RANGE), { size: RANGE });
    await one.keeper.rescan();
    for (const [offset, length] of [
      [5 * RANGE, 10],
      [0, 3 * RANGE],
    ] as const) {
      const read = one.joined.read('large', { offset, length, version });
      await expect(read).rejects.toThrow(errorWith('TIERED_SOURCE_CHANGED'));
    }
    expect(await one.joined.read('large', { offset: 5 * RANGE, length: 10 })).toHaveLength(0);
  });

  it('[Z10] has ranges that are neither listed nor read under a name of their own', async () => {
    const [one] = await rangesWorkers(1, { source: await sourceOf(OBJECTS) });
    if (one === undefined) throw new Error('no worker');
    const named = async (hierarchy: RangesWorker['hierarchy']) => {
      const keys: string[] = [];
      for await (const page of hierarchy.list()) keys.push(...page.map(({ key }) => key));
      return keys.sort();
    };
    expect(await named(one.hierarchy)).toEqual([...OBJECTS.keys()].sort());
    const names = await named(one.keeper);
    expect(names).toHaveLength(OBJECTS.size + 29);
    for (const name of names.filter((key) => !OBJECTS.has(key))) {
      await expect(one.hierarchy.read(name)).rejects.toThrow(errorWith('TIERED_KEY_INVALID'));
      const read = one.joined.read(name, { offset: 0, length: 1 });
      await expect(read).rejects.toThrow(errorWith('TIERED_KEY_INVALID'));
    }
  });

  it('[Z7] is read no more once its reader has closed, and nobody waits', async () => {
    const source = new MemoryDriver();
    for (const [key, bytes] of OBJECTS) await source.write(key, bytes, { size: bytes.byteLength });
    const all = await rangesWorkers(2, { source, isTight: true });
    const [one, other] = all;
    if (one === undefined || other === undefined) throw new Error('no worker');
    const read = one.hierarchy.read('large').catch((error: unknown) => error);
    await one.close();
    expect(await read).toEqual(errorWith('TIERED_CLOSED'));
    await readWhole(other, OBJECTS);
  });
});
