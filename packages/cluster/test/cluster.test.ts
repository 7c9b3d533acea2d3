import { systemClock, type StorageDriver } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { StaticRegistry } from '../src/registry/index.js';
import { MemoryRecords } from '../src/registry/memory-registry.js';
import {
  knowing,
  objectsOf,
  sourceOf,
  until,
  worker,
  workers,
  type Objects,
  type Worker,
} from './helpers.js';

const OBJECTS = objectsOf(30, 2_000);
const TOKEN = 'a secret of the workers';

async function readAll({ hierarchy }: Worker, objects: Objects = OBJECTS): Promise<void> {
  for (const [key, bytes] of objects) expect(Buffer.compare(await hierarchy.read(key), bytes), key).toBe(0);
  await hierarchy.idle();
}

const sourceBytes = (all: readonly Worker[]) => all.reduce((sum, one) => sum + one.sourceBytes(), 0);
const total = [...OBJECTS.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);

/** A worker that has joined others, whom they know. */
async function joined(others: readonly Worker[], options: Parameters<typeof worker>[0]): Promise<Worker> {
  const one = await worker(options);
  await knowing(one.cluster, others.length);
  await Promise.all(others.map(({ cluster }) => knowing(cluster, others.length)));
  return one;
}

describe('a worker of a cluster', () => {
  it('[Z6] is refused if it differs in what all agree on, and is told in what', async () => {
    const records = new MemoryRecords(systemClock);
    const source = await sourceOf(OBJECTS);
    await worker({ source, records, agreed: { dataset: 'a', seed: '1' } });
    await expect(worker({ source, records, agreed: { dataset: 'a', seed: '2' } })).rejects.toThrow(
      'agreed.seed: expected "1", as worker 0 of this cluster has it, got "2"',
    );
    await expect(worker({ source, records, size: 2, agreed: { dataset: 'a', seed: '1' } })).rejects.toThrow(
      /^agreed.size: expected none/,
    );
    expect(records.all()).toHaveLength(1);
  });

  it('[Z6] takes the lowest free rank, or is refused one that another worker has', async () => {
    const records = new MemoryRecords(systemClock);
    const source = await sourceOf(OBJECTS);
    const [first, second] = [await worker({ source, records }), await worker({ source, records })];
    expect([first.cluster.rank, second.cluster.rank]).toEqual([0, 1]);
    await first.close();
    expect((await worker({ source, records })).cluster.rank).toBe(0);
    const clock = new ManualClock();
    const refused = expect(worker({ source, records, rank: 1, clock })).rejects.toThrow(
      /^rank: expected one that no other worker has, got 1/,
    );
    await clock.advance(60_000);
    await refused;
  });

  it('[Y5] joins a list of members, which say nothing but where they are', async () => {
    const source = await sourceOf(OBJECTS);
    const keeper = await worker({ source, records: new MemoryRecords(systemClock), rank: 0, size: 2 });
    await readAll(keeper);
    const members = [
      { rank: 0, url: keeper.cluster.endpoint ?? '' },
      { rank: 1, url: 'http://127.0.0.1:1' },
    ];
    const registry = new StaticRegistry({ members });
    const other = await worker({
      source,
      records: new MemoryRecords(systemClock),
      registry,
      rank: 1,
      size: 2,
    });
    await readAll(other);
    expect(other.cluster.stats().perPeer).toMatchObject([{ rank: 0, missed: 0, failed: 0 }]);
    expect(other.sourceBytes()).toBeLessThan(total);
  });

  it('[Z2] with another token is refused by all, and reads the source', async () => {
    const records = new MemoryRecords(systemClock);
    const source = await sourceOf(OBJECTS);
    const honest = await worker({ source, records, token: TOKEN, rank: 0, size: 2 });
    await readAll(honest);
    const other = await joined([honest], { source, records, token: `not ${TOKEN}`, rank: 1, size: 2 });
    await readAll(other);
    const [peer] = other.cluster.stats().perPeer;
    expect(peer).toMatchObject({ reads: 0, isAsked: false });
    expect(other.sourceBytes()).toBe(total);
    expect(JSON.stringify(records.all())).not.toContain('secret');
  });

  it('[Z3] without a tier of its own reads what others keep', async () => {
    const records = new MemoryRecords(systemClock);
    const source = await sourceOf(OBJECTS);
    const keeper = await worker({ source, records });
    await readAll(keeper);
    const reader = await worker({ source, records, share: false, quota: '0' });
    await knowing(reader.cluster, 1);
    await readAll(reader);
    expect(reader.sourceBytes()).toBe(0);
    expect(reader.cluster.endpoint).toBeUndefined();
    await until(keeper.cluster, () => keeper.cluster.stats().members === 2);
    expect(keeper.cluster.stats().perPeer).toEqual([]);
  });

  it('[N1] [Z2] [Z7] that has left is asked no more, and its objects are read from the source', async () => {
    const [gone, ...left] = await workers(3, { source: await sourceOf(OBJECTS) });
    if (gone === undefined) throw new Error('no worker');
    await Promise.all([gone, ...left].map((one) => readAll(one)));
    const asked = left.map(({ cluster }) => cluster.stats().asked.reads);
    await gone.close();
    await Promise.all(left.map(({ cluster }) => knowing(cluster, 1)));
    // What it gave is not forgotten.
    expect(left.map(({ cluster }) => cluster.stats().asked.reads)).toEqual(asked);
    const before = sourceBytes(left);
    await Promise.all(left.map((one) => readAll(one)));
    expect(sourceBytes(left)).toBeGreaterThan(before);
    for (const { cluster } of left)
      expect(cluster.stats().perPeer.every(({ failed }) => failed === 0)).toBe(true);
  });

  it('[Z5] that comes gets what former homes have, and the source is asked for little', async () => {
    const records = new MemoryRecords(systemClock);
    const source: StorageDriver = await sourceOf(OBJECTS);
    const first = await worker({ source, records });
    await readAll(first);
    const second = await joined([first], { source, records });
    await readAll(second);
    await readAll(first);
    expect(sourceBytes([first, second])).toBe(total);
    // Its own objects are on its tier now.
    expect(second.hierarchy.stats().placement.placed).toBeGreaterThan(5);
  });

  it('[Z3] that has no room fetches nothing for others', async () => {
    const [one, other] = await workers(2, { source: await sourceOf(OBJECTS), quota: '0' });
    if (one === undefined || other === undefined) throw new Error('no worker');
    await readAll(one);
    expect(one.sourceBytes()).toBe(total);
    expect(other.sourceBytes()).toBe(0);
    expect(one.cluster.stats().inVain).toBeGreaterThan(5);
  });

  it('[Z7] that leaves in the middle of reads fails none of them', async () => {
    const [gone, one] = await workers(2, { source: await sourceOf(OBJECTS) });
    if (gone === undefined || one === undefined) throw new Error('no worker');
    await readAll(gone);
    const reads = [...OBJECTS].map(async ([key, bytes]) => {
      expect(Buffer.compare(await one.hierarchy.read(key), bytes), key).toBe(0);
    });
    await one.cluster.close();
    await gone.close();
    await Promise.all(reads);
  });

  it('[Z1] reads the version that the source has, whatever others keep', async () => {
    const records = new MemoryRecords(systemClock);
    const source = await sourceOf(OBJECTS);
    const keeper = await worker({ source, records, rank: 0, size: 2 });
    await readAll(keeper);
    const changed = new Map([...OBJECTS].map(([key, bytes]) => [key, bytes.map((byte) => byte ^ 255)]));
    for (const [key, bytes] of changed) await source.write(key, bytes, { size: bytes.byteLength });
    const other = await joined([keeper], { source, records, rank: 1, size: 2 });
    await readAll(other, changed);
    expect(other.cluster.stats().perPeer[0]?.changed).toBeGreaterThan(0);
    expect(other.cluster.stats().peers.reads).toBe(0);
  });

  it('[Z4] that others take for a home, and is none by its own plan, asks nobody for them', async () => {
    const records = new MemoryRecords(systemClock);
    const source = await sourceOf(OBJECTS);
    // Each takes the other one for the home of all.
    const planOf = (home: number) => ({ homes: Uint16Array.of(home), sampleOf: () => 0 });
    const one = await worker({ source, records, rank: 0, size: 2, plan: planOf(1) });
    const other = await joined([one], { source, records, rank: 1, size: 2, plan: planOf(0) });
    await readAll(one);
    expect(one.cluster.stats()).toMatchObject({ inVain: OBJECTS.size, late: 0, perPeer: [{ failed: 0 }] });
    expect([one.sourceBytes(), other.sourceBytes()]).toEqual([total, 0]);
    expect(other.cluster.stats().peers.reads).toBe(0);
  });
});
