import { Hierarchy, MemoryDriver } from '@tiered/core';
import { ManualClock, settled } from '@tiered/core/testing';
import { PlacementHandler, type PlacementPolicy } from '@tiered/tiering';
import { expect, it, onTestFinished } from 'vitest';
import { Filling } from '../src/daemon/filling.js';

const BYTES = 10;

async function filling({
  count,
  quota,
  policy,
}: {
  readonly count: number;
  readonly quota: number;
  readonly policy?: PlacementPolicy;
}) {
  const source = new MemoryDriver({ quota: '1GiB' });
  for (let i = 0; i < count; i++) await source.write(`${i}`, Buffer.alloc(BYTES, i), { size: BYTES });
  const tier = new MemoryDriver();
  const placement = new PlacementHandler({ chunk: BYTES / 2, policy });
  const hierarchy = new Hierarchy({ source, tiers: [{ driver: tier, quota }], placement });
  await hierarchy.open();
  onTestFinished(() => hierarchy.close());
  const filled = new Filling(hierarchy, new ManualClock());
  onTestFinished(() => filled.close());
  const { namespace } = hierarchy;
  const onTier = () =>
    Array.from({ length: namespace.count }, (_, id) => id).filter((id) => namespace.levelOf(id) === 0);
  return { source, tier, placement, hierarchy, filled, onTier };
}

/** How often the event loop turns until something is done. */
async function turnsUntil(done: Promise<void>): Promise<number> {
  let [turns, isDone] = [0, false];
  const whenDone = done.then(() => {
    isDone = true;
  });
  for (; !isDone; turns++) await settled();
  await whenDone;
  return turns;
}

it('others have their turn while no tier takes anything', async () => {
  const policy: PlacementPolicy = { name: 'refuses', place: () => undefined };
  const { filled, onTier } = await filling({ count: 5000, quota: 1000, policy });
  filled.begin();
  expect(await turnsUntil(filled.idle())).toBeGreaterThan(40);
  expect(onTier()).toEqual([]);
});

it('others have their turn while there is no room, and the placement is not asked then', async () => {
  let asked = 0;
  const policy: PlacementPolicy = {
    name: 'counts',
    place: ({ size }, rooms) => {
      asked += 1;
      return rooms.find(({ freeBytes }) => freeBytes >= size)?.level;
    },
  };
  const { filled, onTier } = await filling({ count: 50_000, quota: 3 * BYTES + 7, policy });
  filled.begin();
  expect(await turnsUntil(filled.idle())).toBeGreaterThan(3);
  expect(onTier()).toEqual([0, 1, 2]);
  expect(asked).toBeLessThan(10);
});

it('what has lost its copy is placed again, and what came later too', async () => {
  const { filled, hierarchy, source, tier, onTier } = await filling({ count: 5, quota: 3 * BYTES });
  filled.begin();
  await filled.idle();
  expect(onTier()).toEqual([0, 1, 2]);
  // Another version, and a copy that somebody deleted.
  await source.write('1', Buffer.alloc(BYTES, 77), { size: BYTES });
  await hierarchy.rescan();
  await filled.idle();
  expect(onTier()).toEqual([0, 1, 2]);
  for await (const page of tier.list({})) for (const { key } of page) await tier.delete(key, {});
  for (const key of ['0', '1', '2']) await hierarchy.read(key);
  await filled.idle();
  expect(onTier()).toHaveLength(3);
  expect([...(await hierarchy.read('1'))]).toEqual([...Buffer.alloc(BYTES, 77)]);
});

it('what was evicted is not placed again', async () => {
  const { filled, placement, onTier } = await filling({ count: 3, quota: 3 * BYTES });
  filled.begin();
  await filled.idle();
  await placement.evict('1');
  await filled.idle();
  expect(onTier()).toEqual([0, 2]);
  filled.begin();
  await filled.idle();
  expect(onTier()).toEqual([0, 1, 2]);
});
