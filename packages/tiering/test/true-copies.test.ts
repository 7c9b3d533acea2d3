import { MemoryDriver } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import {
  IndexedMemoryDriver,
  assertNothingHeld,
  HoldingDriver,
  settled,
  someBytes,
} from '@tiered/core/testing';
import { firstFit, lru, promoting, type PlacementPolicy } from '@tiered/tiering';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { memoryWith, objectsOf, startHierarchy, until } from './helpers.js';

/** Memory that a next process finds again, as a disk. */
class Disk extends InterceptingDriver {
  override readonly capabilities = { ...this.inner.capabilities, persistent: true };
  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }
}

const onlySlow: PlacementPolicy = { name: 'slow', place: () => 1 };

it('[C1] [Q1] a copy that is being published when everything closes is there afterwards, and in the index', async () => {
  const inner = new IndexedMemoryDriver();
  const tier = new HoldingDriver(inner, { operations: ['publish'] });
  const source = new MetricsDriver(await memoryWith(objectsOf([100])));
  const first = await startHierarchy(source, [{ driver: tier, quota: 1000 }]);
  await first.read('0');
  await until(() => tier.held.length === 1);
  const closing = first.close();
  await settled();
  await tier.releaseAll();
  await closing;
  assertNothingHeld(first.stats());
  expect((await inner.usage({})).bytes).toBe(100);
  const next = await startHierarchy(source, [{ driver: inner, quota: 1000 }]);
  await next.idle();
  expect(next.stats().tiers[0]).toMatchObject({ usedBytes: 100, reservedBytes: 0 });
  expect(next.stats().placement.adopted).toBe(1);
  await next.close();
});

it('[R1] [A1] what a caller does with its bytes reaches neither the tier nor another reader', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ offset: fc.nat(900), length: fc.integer({ min: 1, max: 1000 }) }), {
        minLength: 1,
        maxLength: 8,
      }),
      fc.integer({ min: 50, max: 1000 }),
      fc.constantFrom(0, 500, 1000),
      async (ranges, chunk, quota) => {
        const objects = objectsOf([1000]);
        const source = new HoldingDriver(await memoryWith(objects), { operations: ['readInto'] });
        const tier = new HoldingDriver(new MemoryDriver(), { operations: ['write', 'writeAt'] });
        const tiers = quota < chunk ? [] : [{ driver: tier, quota }];
        const hierarchy = await startHierarchy(source, tiers, { chunk });
        const reads = ranges.map(async ({ offset, length }, i) => {
          const bytes = await hierarchy.read('0', { offset, length });
          expect(bytes).toEqual(objects.get('0')?.subarray(offset, offset + length));
          if (i % 2 === 0) bytes.fill(0xff);
          else structuredClone(bytes, { transfer: [bytes.buffer as ArrayBuffer] });
        });
        await source.releaseAll();
        await Promise.all(reads);
        await tier.releaseAll();
        await source.releaseAll();
        await tier.releaseAll();
        const again = hierarchy.read('0');
        await source.releaseAll();
        expect(await again).toEqual(objects.get('0'));
        await hierarchy.idle();
        await hierarchy.close();
      },
    ),
    { numRuns: 30 },
  );
});

it.each([true, false])(
  '[R1] nothing is left of an older version behind the bytes of a read, which began before it was replaced: %o',
  async (isPlaced) => {
    const source = await memoryWith(objectsOf([2000]));
    const holding = new HoldingDriver(source, { operations: ['readInto'] });
    const tiers = [{ driver: new MemoryDriver(), quota: 1500 }];
    const hierarchy = await startHierarchy(holding, tiers, { chunk: 500 });
    if (isPlaced) {
      const placed = hierarchy.place('0');
      await holding.releaseAll();
      expect(await placed).toBe(0);
    }
    const target = new Uint8Array(2000).fill(7);
    const read = hierarchy.readInto('0', target, { offset: 0 });
    await settled();
    // Three chunks come, of what there was; the rest not before it has become something else.
    if (!isPlaced) for (let i = 0; i < 3; i++) await holding.release();
    const changed = someBytes(500, 99);
    await source.write('0', changed, { size: 500 });
    await holding.releaseAll();
    expect(await read).toBe(500);
    expect(target.subarray(0, 500)).toEqual(changed);
    // What was there before, or zeros: nothing of what the object was.
    expect([...new Set(target.subarray(500, 1500))].filter((byte) => byte !== 0 && byte !== 7)).toEqual([]);
    await holding.releaseAll();
    await hierarchy.close();
  },
);

it('[T2] a copy that is damaged is not moved up: it is dropped, and the source serves', async () => {
  const objects = objectsOf([100]);
  const source = new MetricsDriver(await memoryWith(objects));
  const slow = new MemoryDriver();
  const tiers = [
    { driver: new MemoryDriver(), quota: 1000 },
    { driver: slow, quota: 1000 },
  ];
  const hierarchy = await startHierarchy(source, tiers, { policy: promoting(onlySlow), chunk: 40 });
  await hierarchy.place('0');
  await slow.write('0', someBytes(100, 99), { size: 100 });
  // Copies that this process wrote are trusted as long as it runs, but no further.
  await hierarchy.read('0', { length: 10 });
  await hierarchy.idle();
  expect(hierarchy.stats().placement).toMatchObject({ damaged: 1, promoted: 0 });
  expect(await hierarchy.read('0')).toEqual(objects.get('0'));
  await hierarchy.idle();
  expect(await hierarchy.read('0')).toEqual(objects.get('0'));
  await hierarchy.close();
});

it('[T1] [Q1] what is moved up to RAM stays on the disk, and is served from there when RAM has lost it', async () => {
  const objects = objectsOf([100]);
  const source = new MetricsDriver(await memoryWith(objects));
  const [ram, disk] = [new MemoryDriver(), new Disk(new IndexedMemoryDriver())];
  const levels = [
    { driver: ram, quota: 1000 },
    { driver: disk, quota: 1000 },
  ];
  const options = { policy: promoting(onlySlow), chunk: 40 };
  const first = await startHierarchy(source, levels, options);
  await first.place('0');
  await first.read('0');
  await first.idle();
  expect((await first.stat('0')).level).toBe(0);
  expect((await disk.usage({})).bytes).toBe(100);
  await ram.delete('0', {});
  expect(await first.read('0')).toEqual(objects.get('0'));
  expect(await first.read('0')).toEqual(objects.get('0'));
  expect(source.metrics().operations.readInto?.bytes).toBe(100);
  await first.close();
  const next = await startHierarchy(source, levels, options);
  expect(await next.read('0')).toEqual(objects.get('0'));
  expect(source.metrics().operations.readInto?.bytes).toBe(100);
  await next.close();
});

it('between tiers that both last, what is moved up leaves the slower one', async () => {
  const [fast, slow] = [new Disk(new IndexedMemoryDriver()), new MemoryDriver()];
  const levels = [
    { driver: fast, quota: 1000 },
    { driver: slow, quota: 1000 },
  ];
  const hierarchy = await startHierarchy(await memoryWith(objectsOf([100])), levels, {
    policy: promoting(onlySlow),
  });
  await hierarchy.place('0');
  await hierarchy.read('0');
  await hierarchy.idle();
  expect((await fast.usage({})).bytes).toBe(100);
  expect((await slow.usage({})).bytes).toBe(0);
  await hierarchy.close();
});

it('lru makes room on a tier that is full when it starts', async () => {
  const objects = objectsOf([100, 100, 100, 100, 100, 200]);
  const source = await memoryWith(objects);
  const disk = new IndexedMemoryDriver();
  const first = await startHierarchy(source, [{ driver: disk, quota: 500 }], { policy: firstFit });
  for (const key of ['0', '1', '2', '3', '4']) await first.place(key);
  await first.close();
  const hierarchy = await startHierarchy(source, [{ driver: disk, quota: 500 }], { policy: lru });
  await hierarchy.idle();
  // Larger than all that was there.
  for (let i = 0; i < 2; i++) {
    expect(await hierarchy.read('5')).toEqual(objects.get('5'));
    await hierarchy.idle();
  }
  expect((await hierarchy.stat('5')).level).toBe(0);
  expect((await disk.usage({})).bytes).toBeLessThanOrEqual(500);
  await hierarchy.close();
  assertNothingHeld(hierarchy.stats());
});

it('[R2] copies that another program deletes are read from the source, and the tier serves the others', async () => {
  const objects = objectsOf([10, 10, 10, 10, 10, 10]);
  const tier = new MemoryDriver();
  const hierarchy = await startHierarchy(await memoryWith(objects), [{ driver: tier, quota: 100 }]);
  const outOfService: unknown[] = [];
  const faults: unknown[] = [];
  hierarchy.on('tierOutOfService', (event) => outOfService.push(event));
  hierarchy.on('tierFault', ({ key }) => faults.push(key));
  for (const key of objects.keys()) await hierarchy.place(key);
  const names: string[] = [];
  for await (const page of tier.list({})) names.push(...page.map(({ key }) => key));
  for (const name of names.filter((one) => !one.startsWith('5'))) await tier.delete(name, {});
  for (const [key, bytes] of objects) expect(await hierarchy.read(key)).toEqual(bytes);
  expect({ faults, outOfService }).toEqual({ faults: ['0', '1', '2', '3', '4'], outOfService: [] });
  expect(hierarchy.stats().tiers[0]?.reads).toBe(1);
  await hierarchy.close();
});
