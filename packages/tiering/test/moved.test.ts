import { MemoryDriver } from '@tiered/core';
import type { CopyPlace } from '@tiered/core/placement';
import { expect, it } from 'vitest';
import { memoryWith, objectsOf, startHierarchy } from './helpers.js';

async function keysOn(tier: MemoryDriver): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of tier.list({})) keys.push(...page.map(({ key }) => key));
  return keys;
}

it('a hierarchy tells where reads of an object go, before the copy that they leave is deleted', async () => {
  const source = await memoryWith(objectsOf([40, 50]));
  const tier = new MemoryDriver();
  const hierarchy = await startHierarchy(source, [{ driver: tier, quota: 1000 }]);
  const told: (CopyPlace | undefined)[] = [];
  const there: Promise<string[]>[] = [];
  const id = hierarchy.namespace.find('1');
  hierarchy.on('moved', (event) => {
    if (event.id !== id) return;
    expect(event.place).toEqual(hierarchy.placeOf(id));
    told.push(event.place);
    if (event.place === undefined) there.push(keysOn(tier));
  });
  expect(hierarchy.placeOf(id)).toBeUndefined();
  await hierarchy.place('1');
  await hierarchy.idle();
  // In memory a copy is called what its object is called.
  expect(told.at(-1)).toEqual({ level: 0, direct: true, tag: undefined });
  expect(await keysOn(tier)).toEqual(['1']);

  // Another object by now, whose copy goes.
  await source.write('1', new Uint8Array(60), { size: 60 });
  await hierarchy.rescan();
  await hierarchy.idle();
  expect([told.at(-1), hierarchy.placeOf(id)]).toEqual([undefined, undefined]);
  expect(await Promise.all(there)).toEqual([['1']]);
  expect(await keysOn(tier)).toEqual([]);
  await hierarchy.close();
});
