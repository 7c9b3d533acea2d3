import { Hierarchy, MemoryDriver } from '@tiered/core';
import { IndexedMemoryDriver } from '@tiered/core/testing';
import { firstFit, lru, PlacementHandler, type PlacementPolicy } from '@tiered/tiering';
import { expect, it } from 'vitest';
import { memoryWith, objectsOf } from './helpers.js';

const BYTES = 10;

async function opened({
  policy = firstFit,
  driver = new IndexedMemoryDriver(),
  objects = objectsOf(Array.from({ length: 20 }, () => BYTES)),
  quota = 1000,
}: {
  policy?: PlacementPolicy;
  driver?: IndexedMemoryDriver;
  objects?: Map<string, Uint8Array>;
  quota?: number;
} = {}) {
  const placement = new PlacementHandler({ policy, chunk: BYTES });
  const source = await memoryWith(objects);
  const hierarchy = await new Hierarchy({ source, tiers: [{ driver, quota }], placement }).open();
  const hold = hierarchy.holdOf(0);
  if (hold === undefined) throw new Error('The placement knows no bound.');
  const placeAll = async () => {
    for (const key of objects.keys()) await hierarchy.place(key);
  };
  const levels = () => [...objects.keys()].filter((key) => hierarchy.namespace.levelOf(Number(key)) === 0);
  return { hierarchy, placement, hold, objects, driver, placeAll, levels };
}

it('places no more than its bound, and the rest once there is none', async () => {
  const { hierarchy, placement, hold, placeAll, levels, objects } = await opened();
  hold.keepTo(59);
  await placeAll();
  expect(placement.freeBytes()).toEqual([9]);
  expect([hold.heldBytes, levels()]).toEqual([50, ['0', '1', '2', '3', '4']]);
  expect(hierarchy.namespace.sourceBytes).toBe(150);
  hold.keepTo(80);
  // All at once: what is on its way counts.
  await Promise.all([...objects.keys()].map((key) => hierarchy.read(key)));
  await hierarchy.idle();
  expect(hold.heldBytes).toBe(80);
  hold.keepTo(Infinity);
  await placeAll();
  expect([hold.heldBytes, hierarchy.namespace.sourceBytes]).toEqual([200, 0]);
  await hierarchy.close();
});

it('[F2] gives back what it placed last, and evicts nothing until it is told to', async () => {
  const { hierarchy, hold, placeAll, levels, objects } = await opened();
  await placeAll();
  hold.keepTo(60);
  await placeAll();
  expect([hold.heldBytes, hierarchy.stats().placement.evicted]).toEqual([200, 0]);
  hold.giveBack(25);
  expect(hold.heldBytes).toBe(170);
  await hierarchy.idle();
  expect(levels()).toEqual([...objects.keys()].slice(0, 17));
  for (const [key, bytes] of objects) expect(await hierarchy.read(key)).toEqual(bytes);
  await hierarchy.idle();
  expect([hold.heldBytes, hierarchy.stats().placement.evicted]).toEqual([170, 3]);
  hold.giveBack(Infinity);
  expect(hold.heldBytes).toBe(0);
  await hierarchy.close();
});

it('a policy that evicts goes on within its bound, in its order', async () => {
  const { hierarchy, hold, placeAll, levels } = await opened({ policy: lru });
  hold.keepTo(60);
  await placeAll();
  expect(hold.heldBytes).toBeLessThanOrEqual(60);
  expect(levels().at(-1)).toBe('19');
  const before = levels();
  const [oldest = ''] = before;
  await hierarchy.read(oldest);
  hold.keepTo(20);
  await hierarchy.read('0');
  expect(levels()).toEqual(before);
  // What was read last stays longest.
  hold.giveBack(hold.heldBytes - BYTES);
  expect(levels()).toEqual([oldest]);
  await hierarchy.close();
});

it('counts neither copies of others, nor its own once they are gone', async () => {
  const first = await opened();
  const { objects, driver } = first;
  await first.placeAll();
  const second = await opened({ objects, driver });
  await second.placeAll();
  expect([first.hold.heldBytes, second.hold.heldBytes]).toEqual([200, 0]);
  expect(second.hierarchy.namespace.sourceBytes).toBe(0);
  second.hold.keepTo(0);
  second.hold.giveBack(Infinity);
  expect(second.levels()).toHaveLength(20);
  // One that placed nothing may still evict what it knows.
  await first.placement.evict('3');
  expect(first.hold.heldBytes).toBe(190);
  await Promise.all([first.hierarchy.close(), second.hierarchy.close()]);
});

it('counts a copy for as long as it is there, also while a faster one is served', async () => {
  const policy = { name: 'upwards', place: () => 1, promote: () => 0 };
  const placement = new PlacementHandler({ policy, chunk: BYTES });
  const source = await memoryWith(objectsOf([BYTES, BYTES]));
  const shared = { driver: new IndexedMemoryDriver(), quota: 1000 };
  const tiers = [{ driver: new MemoryDriver(), quota: 1000 }, shared];
  const hierarchy = await new Hierarchy({ source, tiers, placement }).open();
  const holds = [hierarchy.holdOf(0), hierarchy.holdOf(1)];
  const held = () => holds.map((hold) => hold?.heldBytes);
  for (const key of ['0', '1']) await hierarchy.place(key);
  await hierarchy.read('0');
  await hierarchy.idle();
  expect(held()).toEqual([10, 20]);
  holds[1]?.giveBack(Infinity);
  expect(held()).toEqual([10, 0]);
  await hierarchy.idle();
  expect(['0', '1'].map((key) => hierarchy.namespace.levelOf(Number(key)))).toEqual([0, 2]);
  await hierarchy.close();
});
