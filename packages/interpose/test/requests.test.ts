import { Hierarchy, MemoryDriver, MetadataContainer, type StorageDriver } from '@tiered/core';
import { HoldingDriver, IndexedMemoryDriver, ManualClock, settled } from '@tiered/core/testing';
import { PlacementHandler, type PlacementPolicy } from '@tiered/tiering';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { Checking } from '../src/daemon/checking.js';
import { Requests } from '../src/daemon/requests.js';

const BYTES = 10;

async function sourceOf(count: number): Promise<MemoryDriver> {
  const source = new MemoryDriver({ quota: '1GiB' });
  for (let i = 0; i < count; i++) await source.write(`${i}`, Buffer.alloc(BYTES, i), { size: BYTES });
  return source;
}

async function opened(
  source: StorageDriver,
  tier: StorageDriver,
  { policy, quota = 1000 }: { readonly policy?: PlacementPolicy; readonly quota?: number } = {},
) {
  const placement = new PlacementHandler({ policy, chunk: BYTES });
  const hierarchy = new Hierarchy({ source, tiers: [{ driver: tier, quota }], placement });
  await hierarchy.open();
  onTestFinished(() => hierarchy.close());
  await hierarchy.idle();
  return { hierarchy, placement, namespace: hierarchy.namespace };
}

/** A hierarchy whose tier holds the copies of another one, and does not give them. */
async function warm(count: number) {
  const source = await sourceOf(count);
  const inner = new IndexedMemoryDriver({ quota: '1GiB' });
  const first = await opened(source, inner);
  for (let id = 0; id < count; id++) expect(await first.hierarchy.place(`${id}`)).toBe(0);
  await first.hierarchy.close();
  const tier = new HoldingDriver(inner, { operations: ['read', 'readInto', 'readMany'] });
  const second = await opened(source, tier);
  for (let id = 0; id < count; id++) {
    // The tier tells of its copies as they are looked for.
    await second.hierarchy.place(`${id}`);
    expect([second.namespace.levelOf(id), second.namespace.directLevelOf(id)]).toEqual([0, 1]);
  }
  return { ...second, tier };
}

async function turnsUntil(isSo: () => boolean): Promise<void> {
  while (!isSo()) await settled();
}

it('[I7] a program that waits for a copy does not wait for those that nobody waits for', async () => {
  const { hierarchy, namespace, tier } = await warm(50);
  const requests = new Requests(hierarchy, new ManualClock());
  for (let id = 0; id < 50; id++) requests.check(id);
  await turnsUntil(() => tier.held.length === 2);
  const ready = requests.ready(40);
  await turnsUntil(() => tier.held.length === 3);
  await tier.release({ index: 2 });
  await ready;
  expect(namespace.directLevelOf(40)).toBe(0);
  // One that is being checked already is not read twice.
  const again = requests.ready(0);
  const closed = requests.close();
  await turnsUntil(() => tier.held.length === 2);
  await tier.releaseAll();
  await Promise.all([again, closed]);
});

it('[I3] every copy of an earlier daemon is checked, and many are not remembered one by one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.nat(29), { maxLength: 20 }), { maxLength: 10 }),
      async (batches) => {
        const namespace = new MetadataContainer(1);
        for (let id = 0; id < 30; id++) namespace.put({ key: `${id}`, size: BYTES, version: '1' });
        let [underWay, most] = [0, 0];
        const checking = new Checking(
          {
            namespace: () => namespace,
            sourceLevel: 1,
            clock: new ManualClock(),
            check: async (id) => {
              most = Math.max(most, ++underWay);
              await settled();
              namespace.setLevel(id, 0);
              underWay -= 1;
            },
          },
          3,
        );
        for (const batch of batches) {
          for (const id of batch) {
            namespace.setLevel(id, 0, false);
            checking.moved(id);
            checking.begin(id);
          }
          await settled();
        }
        await checking.idle();
        for (const id of batches.flat()) expect(namespace.directLevelOf(id)).toBe(0);
        expect(most).toBeLessThanOrEqual(2);
      },
    ),
    { numRuns: 50 },
  );
});

/** Counts how often it is asked, and refuses. */
function refusing() {
  const asked: string[] = [];
  const policy: PlacementPolicy = {
    name: 'refuses',
    place: ({ key }) => void asked.push(key),
  };
  return { asked, policy };
}

it('what no tier takes is not asked for again for a while', async () => {
  const { asked, policy } = refusing();
  const clock = new ManualClock();
  const { hierarchy } = await opened(await sourceOf(3), new MemoryDriver(), { policy });
  const requests = new Requests(hierarchy, clock);
  const open = async (id: number) => {
    requests.place(id);
    await requests.idle();
  };
  for (let epoch = 0; epoch < 100; epoch++) for (const id of [0, 2]) await open(id);
  expect(asked).toEqual(['0', '2']);
  // But it is for a program that waits for it.
  await requests.ready(0);
  expect(asked).toEqual(['0', '2', '0']);
  clock.pass(10_000);
  for (let epoch = 0; epoch < 100; epoch++) await open(2);
  expect(asked).toEqual(['0', '2', '0', '2']);
});

it('what no tier takes is asked for once a copy goes', async () => {
  const clock = new ManualClock();
  const { hierarchy, placement, namespace } = await opened(await sourceOf(3), new MemoryDriver(), {
    quota: 2 * BYTES,
  });
  const requests = new Requests(hierarchy, clock);
  const open = async (id: number) => {
    requests.place(id);
    await requests.idle();
    return namespace.levelOf(id);
  };
  expect([await open(0), await open(1), await open(2), await open(2)]).toEqual([0, 0, 1, 1]);
  await placement.evict('1');
  requests.moved(1);
  expect([await open(2), await open(1)]).toEqual([0, 1]);
  // The one that goes has its room until it is deleted, so what is declined meanwhile is not remembered.
  requests.moved(0);
  expect(await open(1)).toBe(1);
  await placement.evict('2');
  expect(await open(1)).toBe(0);
});

it('nothing is declined for ever, however many copies go', async () => {
  const { asked, policy } = refusing();
  const clock = new ManualClock();
  const { hierarchy } = await opened(await sourceOf(2), new MemoryDriver(), { policy });
  const requests = new Requests(hierarchy, clock);
  for (let round = 1; round <= 600; round++) {
    requests.moved(1);
    clock.pass(1000);
    for (let open = 0; open < 2; open++) {
      requests.place(0);
      await requests.idle();
    }
    expect(asked).toHaveLength(round);
  }
});
