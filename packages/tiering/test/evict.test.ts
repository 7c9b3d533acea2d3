import { Hierarchy, MemoryDriver } from '@tiered/core';
import { PlacementHandler } from '@tiered/tiering';
import { expect, it } from 'vitest';
import { memoryWith, objectsOf } from './helpers.js';

async function placed(sizes: readonly number[], quota: number) {
  const placement = new PlacementHandler({ chunk: 10 });
  const tiers = [{ driver: new MemoryDriver(), quota }];
  const objects = objectsOf(sizes);
  const hierarchy = await new Hierarchy({ source: await memoryWith(objects), tiers, placement }).open();
  for (const key of objects.keys()) await hierarchy.place(key);
  return { hierarchy, placement, objects };
}

it('an object that is evicted leaves its room to others, and may come back', async () => {
  const { hierarchy, placement, objects } = await placed([10, 10, 10], 20);
  expect([...objects.keys()].map((key) => hierarchy.namespace.levelOf(Number(key)))).toEqual([0, 0, 1]);
  expect(placement.freeBytes()).toEqual([0]);
  expect(await placement.evict('0')).toBe(true);
  expect(placement.freeBytes()).toEqual([10]);
  expect(await hierarchy.place('2')).toBe(0);
  expect(await hierarchy.place('0')).toBe(1);
  expect(await placement.evict('1')).toBe(true);
  expect(await hierarchy.place('0')).toBe(0);
  for (const [key, bytes] of objects) expect(await hierarchy.read(key)).toEqual(bytes);
  expect(hierarchy.stats().placement.evicted).toBe(2);
  await hierarchy.close();
});

it('there may be nothing to evict, and nobody who does', async () => {
  const { hierarchy, placement } = await placed([10], 20);
  await placement.evict('0');
  expect(await placement.evict('0')).toBe(false);
  expect(await placement.evict('unknown')).toBe(false);
  await hierarchy.close();
  await expect(placement.evict('0')).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
});
