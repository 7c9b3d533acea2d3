import { Hierarchy, MemoryDriver, type VersionPolicy } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { FaultDriver, IndexedMemoryDriver, assertNothingHeld, someBytes } from '@tiered/core/testing';
import { PlacementHandler, type PlacementHandlerOptions } from '@tiered/tiering';
import { describe, expect, it } from 'vitest';
import { copyNames, memoryWith, objectsOf } from './helpers.js';

interface Life extends PlacementHandlerOptions {
  readonly versions?: VersionPolicy;
  readonly scan?: boolean;
  readonly quotas?: readonly number[];
}

/** Storage that outlives its hierarchies. */
async function world(sizes: readonly number[], tierCount = 1) {
  const objects = objectsOf(sizes);
  const storage = await memoryWith(objects);
  const tiers = Array.from({ length: tierCount }, () => new IndexedMemoryDriver());
  const live = async ({ versions, scan = true, quotas = tiers.map(() => 10_000), ...options }: Life = {}) => {
    const source = new MetricsDriver(storage);
    const hierarchy = new Hierarchy({
      source,
      tiers: tiers.map((driver, level) => ({ driver, quota: quotas[level] ?? 0 })),
      placement: new PlacementHandler({ chunk: 100, ...options }),
      scan,
      ...(versions && { versions }),
    });
    const dropped: string[] = [];
    hierarchy.on('dropped', ({ key, reason }) => dropped.push(`${key} ${reason}`));
    await hierarchy.open();
    return { hierarchy, dropped, brought: () => source.metrics().operations.readInto?.bytes ?? 0 };
  };
  const change = async (key: string, bytes: Uint8Array) => {
    objects.set(key, bytes);
    await storage.write(key, bytes, { size: bytes.byteLength });
  };
  return { objects, storage, tiers, live, change };
}

async function readAll(hierarchy: Hierarchy, objects: Map<string, Uint8Array>): Promise<void> {
  for (const [key, bytes] of objects) {
    expect(await hierarchy.read(key)).toEqual(bytes);
    await hierarchy.idle();
  }
}

describe('warm restart', () => {
  it.each([true, false])(
    '[T1] takes over what is on the tier, and fetches nothing again (scan: %s)',
    async (scan) => {
      const { objects, live } = await world([250, 100, 0, 1]);
      const first = await live();
      await readAll(first.hierarchy, objects);
      await first.hierarchy.close();
      const second = await live({ scan });
      await readAll(second.hierarchy, objects);
      await readAll(second.hierarchy, objects);
      expect(second.brought()).toBe(0);
      expect(second.hierarchy.stats().placement).toMatchObject({ adopted: 3, damaged: 0, outdated: 0 });
      expect(second.hierarchy.stats().tiers[0]).toMatchObject({ usedBytes: 351, reads: 6 });
      await second.hierarchy.close();
      assertNothingHeld(second.hierarchy.stats());
    },
  );

  it('[T1] keeps all copies while the source is empty, as a directory is where nothing is mounted', async () => {
    const { objects, storage, live } = await world([250, 100]);
    const first = await live();
    await readAll(first.hierarchy, objects);
    await first.hierarchy.close();
    for (const key of objects.keys()) await storage.delete(key, {});
    const second = await live();
    await second.hierarchy.idle();
    expect(second.hierarchy.stats().tiers[0]?.usedBytes).toBe(350);
    expect(second.dropped).toEqual([]);
    await second.hierarchy.close();
    for (const [key, bytes] of objects) await storage.write(key, bytes, { size: bytes.byteLength });
    const third = await live({ versions: 'ignore' });
    await readAll(third.hierarchy, objects);
    expect(third.brought()).toBe(0);
    await third.hierarchy.close();
  });

  it('[T1] takes over partial copies too', async () => {
    const { objects, live } = await world([1000]);
    const first = await live({ quotas: [450] });
    await readAll(first.hierarchy, objects);
    await first.hierarchy.close();
    const second = await live({ quotas: [450] });
    await readAll(second.hierarchy, objects);
    expect(second.brought()).toBe(550);
    expect(await second.hierarchy.read('0', { offset: 400, length: 100 })).toEqual(
      objects.get('0')?.subarray(400, 500),
    );
    await second.hierarchy.close();
  });

  it('[T2] a copy is checked when it is first read, and one that is damaged is dropped, never served, and placed anew', async () => {
    const { objects, tiers, live } = await world([250]);
    const first = await live();
    await readAll(first.hierarchy, objects);
    await first.hierarchy.close();
    const damaged = Uint8Array.from(objects.get('0') ?? []);
    damaged[120] = (damaged[120] ?? 0) ^ 1;
    await tiers[0]?.write((await copyNames(tiers[0])).get('0') ?? '', damaged, { size: 250 });
    const { hierarchy, dropped, brought } = await live();
    // The damage is in the second chunk; the first is served from the tier.
    expect(await hierarchy.read('0', { length: 100 })).toEqual(objects.get('0')?.subarray(0, 100));
    expect(brought()).toBe(0);
    await readAll(hierarchy, objects);
    await readAll(hierarchy, objects);
    expect(dropped).toEqual(['0 damaged']);
    expect(hierarchy.stats()).toMatchObject({
      placement: { damaged: 1, placed: 1 },
      tiers: [{ usedBytes: 250, faults: 1 }],
    });
    const before = brought();
    await readAll(hierarchy, objects);
    expect(brought()).toBe(before);
    await hierarchy.close();
  });

  it('[T2] a copy that is gone, or shorter than it must be, is dropped', async () => {
    const { objects, tiers, live } = await world([250, 100]);
    const first = await live();
    await readAll(first.hierarchy, objects);
    await first.hierarchy.close();
    const names = await copyNames(tiers[0]);
    await tiers[0]?.delete(names.get('0') ?? '', {});
    await tiers[0]?.write(names.get('1') ?? '', new Uint8Array(10), { size: 10 });
    const { hierarchy, dropped } = await live();
    await readAll(hierarchy, objects);
    expect(dropped).toEqual(['0 missing', '1 damaged']);
    await readAll(hierarchy, objects);
    expect(hierarchy.stats().tiers[0]).toMatchObject({ usedBytes: 350 });
    await hierarchy.close();
  });

  it('a tier that cannot be read for a moment keeps its copies', async () => {
    const { objects, tiers, storage, live } = await world([100]);
    const first = await live();
    await readAll(first.hierarchy, objects);
    await first.hierarchy.close();
    const rules = [{ operations: ['read'] as const, nth: 1, fault: { kind: 'fail' as const } }];
    const driver = new FaultDriver(tiers[0] ?? new MemoryDriver(), { rules });
    const source = new MetricsDriver(storage);
    const placement = new PlacementHandler({ chunk: 100 });
    const hierarchy = await new Hierarchy({ source, tiers: [{ driver, quota: 1000 }], placement }).open();
    await readAll(hierarchy, objects);
    await readAll(hierarchy, objects);
    expect(source.metrics().operations.readInto?.bytes).toBe(100);
    expect(hierarchy.stats()).toMatchObject({ placement: { damaged: 0, placed: 0 }, tiers: [{ faults: 1 }] });
    await hierarchy.close();
  });

  it('[V1] a copy of another version is dropped, and deleted', async () => {
    const { objects, tiers, live, change } = await world([100, 100]);
    const first = await live();
    await readAll(first.hierarchy, objects);
    await first.hierarchy.close();
    await change('0', someBytes(100, 99));
    const { hierarchy, dropped } = await live();
    await hierarchy.idle();
    expect(dropped).toEqual(['0 outdated']);
    expect((await tiers[0]?.usage({}))?.bytes).toBe(100);
    await readAll(hierarchy, objects);
    await readAll(hierarchy, objects);
    expect((await tiers[0]?.usage({}))?.bytes).toBe(200);
    await hierarchy.close();
  });

  it('[Q1] a quota that became smaller is met after the start', async () => {
    const { objects, tiers, live } = await world([100, 100, 100]);
    const first = await live();
    await readAll(first.hierarchy, objects);
    await first.hierarchy.close();
    const { hierarchy } = await live({ quotas: [200] });
    await hierarchy.idle();
    expect((await tiers[0]?.usage({}))?.bytes).toBe(200);
    await readAll(hierarchy, objects);
    expect((await tiers[0]?.usage({}))?.bytes).toBe(200);
    await hierarchy.close();
  });

  it('an object that is on two tiers after a crash ends on the faster one', async () => {
    const { objects, tiers, live } = await world([100], 2);
    const slow = await live({ policy: { name: 'slow', place: () => 1 } });
    await readAll(slow.hierarchy, objects);
    await slow.hierarchy.close();
    const copy = tiers.pop();
    const fast = await live();
    await readAll(fast.hierarchy, objects);
    await fast.hierarchy.close();
    if (copy !== undefined) tiers.push(copy);
    const { hierarchy, brought } = await live();
    await readAll(hierarchy, objects);
    expect(brought()).toBe(0);
    expect((await tiers[0]?.usage({}))?.bytes).toBe(100);
    expect((await tiers[1]?.usage({}))?.bytes).toBe(0);
    await hierarchy.close();
  });
});

describe('several hierarchies on one tier', () => {
  it('[T3] serve what the others placed, keep one copy of each object, and one quota', async () => {
    const { objects, tiers, live } = await world(Array.from({ length: 20 }, () => 100));
    const [a, b] = [await live({ quotas: [1000] }), await live({ quotas: [1000] })];
    const keys = [...objects.keys()];
    await Promise.all([
      ...keys.map(async (key) => expect(await a.hierarchy.read(key)).toEqual(objects.get(key))),
      ...keys.toReversed().map(async (key) => expect(await b.hierarchy.read(key)).toEqual(objects.get(key))),
    ]);
    await a.hierarchy.idle();
    await b.hierarchy.idle();
    const held = (await tiers[0]?.usage({}))?.bytes ?? 0;
    // Each may keep room to itself that is too small for an object.
    expect(held).toBeGreaterThanOrEqual(800);
    expect(held).toBeLessThanOrEqual(1000);
    await readAll(a.hierarchy, objects);
    await readAll(b.hierarchy, objects);
    await readAll(a.hierarchy, objects);
    expect((await tiers[0]?.usage({}))?.bytes).toBeLessThanOrEqual(1000);
    const before = a.brought() + b.brought();
    const now = (await tiers[0]?.usage({}))?.bytes ?? 0;
    await readAll(a.hierarchy, objects);
    await readAll(b.hierarchy, objects);
    expect(a.brought() + b.brought() - before).toBeLessThanOrEqual(2 * (2000 - now));
    const adopted = a.hierarchy.stats().placement.adopted + b.hierarchy.stats().placement.adopted;
    expect(adopted).toBe(((await tiers[0]?.usage({}))?.bytes ?? 0) / 100);
    await a.hierarchy.close();
    await readAll(b.hierarchy, objects);
    await b.hierarchy.close();
    assertNothingHeld(b.hierarchy.stats());
  });

  it('[T3] a copy that one drops is not served by the other', async () => {
    const { objects, live, change } = await world([100]);
    const [a, b] = [await live({ scan: false }), await live({ scan: false })];
    await readAll(a.hierarchy, objects);
    await readAll(b.hierarchy, objects);
    expect(b.brought()).toBe(0);
    const old = objects.get('0') ?? new Uint8Array();
    await change('0', someBytes(100, 99));
    await a.hierarchy.rescan();
    await readAll(a.hierarchy, objects);
    await readAll(a.hierarchy, objects);
    // This one has not looked at the source since. Its copy is gone, and the source has another version: it
    // reads that.
    expect(await b.hierarchy.read('0')).not.toEqual(old);
    expect(await b.hierarchy.read('0')).toEqual(objects.get('0'));
    await a.hierarchy.close();
    await b.hierarchy.close();
  });

  it('[T3] datasets with the same keys do not mix', async () => {
    const tier = new IndexedMemoryDriver();
    const make = async (name: string, seed: number) => {
      const source = new MemoryDriver({ name });
      const bytes = someBytes(100, seed);
      await source.write('a', bytes, { size: 100 });
      const placement = new PlacementHandler({ chunk: 100 });
      const hierarchy = new Hierarchy({ source, tiers: [{ driver: tier, quota: 10_000 }], placement });
      return { bytes, hierarchy: await hierarchy.open() };
    };
    const [train, val] = [await make('train', 1), await make('val', 2)];
    for (let i = 0; i < 3; i++) {
      for (const { hierarchy, bytes } of [train, val]) {
        expect(await hierarchy.read('a')).toEqual(bytes);
        await hierarchy.idle();
      }
    }
    expect((await tier.usage({})).objects).toBe(2);
    await train.hierarchy.close();
    await val.hierarchy.close();
    const again = await make('train', 1);
    expect(again.hierarchy.stats().placement.outdated).toBe(0);
    expect((await tier.usage({})).objects).toBe(2);
    await again.hierarchy.close();
  });
});
