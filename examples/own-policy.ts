/**
 * A placement policy of one's own: objects are spread over two disks by their key, so that both disks serve
 * reads, and what is read for validation stays in RAM. A policy is pure functions: what they see is what they
 * are given.
 * Run it: node --conditions=tiered-source --import tsx examples/own-policy.ts
 */
import { Hierarchy, MemoryDriver } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { firstFit, PlacementHandler, type PlacementPolicy } from '@tiered/tiering';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const RAM = 0;
const DISKS = [1, 2];

/** A number that the key gives away, the same in every process. */
function hash(key: string): number {
  let sum = 0;
  for (const char of key) sum = (Math.imul(sum, 31) + (char.codePointAt(0) ?? 0)) >>> 0;
  return sum;
}

const striped: PlacementPolicy = {
  name: 'striped',
  place: (object, tiers) => {
    const hasRoom = (level: number) =>
      tiers.some((tier) => tier.level === level && tier.freeBytes >= object.size);
    if (object.key.startsWith('val/')) return hasRoom(RAM) ? RAM : undefined;
    const disk = DISKS[hash(object.key) % DISKS.length] ?? RAM;
    if (hasRoom(disk)) return disk;
    // The disk of this key is full: the first level with room, RAM apart, and a part of the object if it must
    // be.
    return firstFit.place(
      object,
      tiers.filter(({ level }) => level !== RAM),
    );
  },
};

const scratch = await mkdtemp(path.join(os.tmpdir(), 'tiered-example-'));
try {
  const source = new MemoryDriver({ name: 'dataset' });
  for (let i = 0; i < 40; i++) {
    const key = i % 10 === 0 ? `val/${i}` : `train/${i}`;
    await source.write(key, new Uint8Array(1_000_000).fill(i), { size: 1_000_000 });
  }
  const disk = (name: string) => new FileSystemDriver({ root: path.join(scratch, name), writable: true });
  await using hierarchy = await new Hierarchy({
    source,
    tiers: [
      { driver: new MemoryDriver({ name: 'ram' }), quota: '8MB' },
      { driver: disk('disk-a'), quota: '16MB' },
      { driver: disk('disk-b'), quota: '16MB' },
    ],
    placement: new PlacementHandler({ policy: striped }),
  }).open();
  for await (const page of hierarchy.list()) for (const { key } of page) await hierarchy.read(key);
  await hierarchy.idle();
  for (const { driver, usedBytes } of hierarchy.stats().tiers) console.log(driver, usedBytes / 1e6, 'MB');
  const wrong = [...hierarchyLevels(hierarchy)].filter(
    ([key, level]) => key.startsWith('val/') !== (level === RAM),
  );
  if (wrong.length > 0) throw new Error(`not where the policy says: ${wrong.join(' ')}`);
} finally {
  await rm(scratch, { recursive: true, force: true });
}

function* hierarchyLevels({ namespace }: Hierarchy): Generator<[string, number]> {
  for (let id = 0; id < namespace.count; id++) yield [namespace.keyOf(id), namespace.levelOf(id)];
}
