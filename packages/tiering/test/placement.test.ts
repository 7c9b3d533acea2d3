import { Hierarchy, MemoryDriver } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { FaultDriver, assertNothingHeld, HoldingDriver, settled, someBytes } from '@tiered/core/testing';
import { PlacementHandler } from '@tiered/tiering';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf, startHierarchy } from './helpers.js';

const WHOLE = { offset: 0, length: 10_000 };

describe('PlacementHandler', () => {
  it('[F1] any interleaving of partial reads costs the source each byte once, and every read is right', async () => {
    const read = fc.record({ object: fc.nat(3), from: fc.nat(999), length: fc.nat(1200) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(read, { minLength: 1, maxLength: 40 }),
        fc.array(fc.nat(30), { minLength: 300, maxLength: 300 }),
        fc.integer({ min: 1, max: 400 }),
        fc.integer({ min: 1, max: 4 }),
        async (reads, order, chunk, concurrency) => {
          const objects = objectsOf([1000, 500, 1, 999]);
          const holding = new HoldingDriver(await memoryWith(objects), { operations: ['readInto', 'read'] });
          const source = new MetricsDriver(holding);
          const tiers = [
            { driver: new MemoryDriver(), quota: 1200 },
            { driver: new MemoryDriver(), quota: 2000 },
          ];
          const hierarchy = await startHierarchy(source, tiers, { chunk, concurrency });
          const done = reads.map(async ({ object, from, length }) => {
            const bytes = objects.get(String(object)) ?? new Uint8Array();
            const got = await hierarchy.read(String(object), { offset: from, length });
            expect(Buffer.compare(got, bytes.subarray(from, from + length))).toBe(0);
          });
          const idle = Promise.all(done).then(() => hierarchy.idle());
          await settled();
          for (let i = 0; holding.held.length > 0; i++) {
            await holding.release({ index: (order[i % order.length] ?? 0) % holding.held.length });
          }
          await idle;
          // Every object of which a byte was read is now on a tier, and cost the source each byte once.
          const sizeOf = (key: string) => objects.get(key)?.byteLength ?? 0;
          const touched = new Set(
            reads
              .filter((r) => r.length > 0 && r.from < sizeOf(String(r.object)))
              .map((r) => String(r.object)),
          );
          const sum = (of: (size: number) => number) =>
            [...touched].reduce((total, key) => total + of(sizeOf(key)), 0);
          const { readInto } = source.metrics().operations;
          expect(source.metrics().operations.read).toBeUndefined();
          expect(readInto?.bytes ?? 0).toBe(sum((size) => size));
          expect(readInto?.count ?? 0).toBe(sum((size) => Math.ceil(size / chunk)));
          const stats = hierarchy.stats();
          expect(stats.source).toMatchObject({
            reads: readInto?.count ?? 0,
            readBytes: readInto?.bytes ?? 0,
          });
          expect(stats.placement).toMatchObject({ placed: touched.size, failed: 0 });
          for (const key of touched) {
            const { level } = await hierarchy.stat(key);
            expect(await tiers[level]?.driver.read(key, WHOLE)).toEqual(objects.get(key));
          }
          await hierarchy.close();
          assertNothingHeld(hierarchy.stats());
        },
      ),
      { numRuns: 60 },
    );
  });

  it('[F2] with a quota smaller than the dataset, later epochs read only the objects that did not fit', async () => {
    const sizes = [300, 200, 250, 150, 100];
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(['0', '1', '2', '3', '4'], { minLength: 5 }),
        fc.integer({ min: 350, max: 1100 }),
        async (order, quota) => {
          const source = new MetricsDriver(await memoryWith(objectsOf(sizes)));
          const hierarchy = await startHierarchy(source, [{ driver: new MemoryDriver(), quota }], {
            chunk: 350,
          });
          let fits = quota;
          let outside = 0;
          for (const key of order) {
            const size = sizes[Number(key)] ?? 0;
            if (size <= fits) fits -= size;
            else outside += size;
          }
          const total = () => hierarchy.stats().source.readBytes;
          for (let epoch = 0; epoch < 3; epoch++) {
            for (const key of order) {
              await hierarchy.read(key);
              await hierarchy.idle();
            }
            expect(total()).toBe(1000 + epoch * outside);
          }
          expect(hierarchy.stats().tiers[0]?.usedBytes).toBe(quota - fits);
          await hierarchy.close();
        },
      ),
      { numRuns: 30 },
    );
  });

  it('[F3] a read waits neither for the tier nor for the pool', async () => {
    const objects = objectsOf([100, 100, 100]);
    const tier = new HoldingDriver(new MemoryDriver(), { operations: ['write'] });
    const hierarchy = await startHierarchy(await memoryWith(objects), [{ driver: tier, quota: 1000 }], {
      concurrency: 1,
      chunk: 100,
    });
    for (const key of ['0', '1', '2']) expect(await hierarchy.read(key)).toEqual(objects.get(key));
    // The only place in the pool is taken by a write that does not end.
    expect(tier.held.length).toBe(1);
    expect(hierarchy.stats().tiers[0]).toMatchObject({ usedBytes: 0, reservedBytes: 300 });
    await tier.releaseAll();
    await hierarchy.idle();
    expect(hierarchy.stats().tiers[0]).toMatchObject({ usedBytes: 300, reservedBytes: 0 });
    await hierarchy.close();
  });

  it('[F3] a reader of the beginning does not wait for the end', async () => {
    const objects = objectsOf([1000]);
    const source = new HoldingDriver(await memoryWith(objects), { operations: ['readInto'] });
    const hierarchy = await startHierarchy(source, [{ driver: new MemoryDriver(), quota: 1000 }], {
      chunk: 100,
    });
    const beginning = hierarchy.read('0', { length: 150 });
    await settled();
    await source.release();
    await source.release();
    expect(await beginning).toEqual(objects.get('0')?.subarray(0, 150));
    expect(hierarchy.stats().source.readBytes).toBe(200);
    await source.releaseAll();
    await hierarchy.idle();
    expect((await hierarchy.stat('0')).level).toBe(0);
    await hierarchy.close();
  });

  it('[F4] a handle moves to the tier in mid-object, without being opened again', async () => {
    const objects = objectsOf([1000]);
    const source = new MetricsDriver(await memoryWith(objects));
    const hierarchy = await startHierarchy(source, [{ driver: new MemoryDriver(), quota: 1000 }]);
    const handle = await hierarchy.handle('0');
    await handle.read({ length: 10 });
    await hierarchy.idle();
    const before = hierarchy.stats();
    const target = new Uint8Array(500);
    expect(await handle.readInto(target, { offset: 400 })).toBe(500);
    expect(target).toEqual(objects.get('0')?.subarray(400, 900));
    const after = hierarchy.stats();
    expect(after.source.reads).toBe(before.source.reads);
    expect(after.tiers[0]?.reads).toBe((before.tiers[0]?.reads ?? 0) + 1);
    await hierarchy.close();
  });

  it('places no more at a time than its memory allows, and reads the rest without placing, until there is memory', async () => {
    const objects = objectsOf([100, 100, 100]);
    const tier = new HoldingDriver(new MemoryDriver(), { operations: ['write'] });
    const hierarchy = await startHierarchy(await memoryWith(objects), [{ driver: tier, quota: 1000 }], {
      memory: 200,
      chunk: 100,
      whenBehind: 'goOn',
    });
    for (const key of ['0', '1', '2']) expect(await hierarchy.read(key)).toEqual(objects.get(key));
    expect(hierarchy.stats().placement.fetchingBytes).toBe(200);
    await tier.releaseAll();
    await hierarchy.idle();
    const level = async (key: string) => (await hierarchy.stat(key)).level;
    expect(await Promise.all(['0', '1'].map(level))).toEqual([0, 0]);
    expect(hierarchy.stats().placement).toMatchObject({ behind: 1, declined: 0 });
    await hierarchy.close();
  });

  it('place() puts objects on tiers ahead of reads, waiting for memory where it must', async () => {
    const objects = objectsOf([100, 100, 0, 100, 50]);
    const source = new MetricsDriver(await memoryWith(objects));
    const hierarchy = await startHierarchy(source, [{ driver: new MemoryDriver(), quota: 1000 }], {
      memory: 100,
      chunk: 100,
    });
    const levels = await Promise.all([...objects.keys()].map((key) => hierarchy.place(key)));
    expect(levels).toEqual([0, 0, 0, 0, 0]);
    expect(await hierarchy.place('0')).toBe(0);
    expect(source.metrics().operations.readInto?.bytes).toBe(350);
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
  });

  it('a policy that chooses a level without room is told so at once', async () => {
    const tiers = [{ driver: new MemoryDriver(), quota: 100 }];
    const source = await memoryWith(objectsOf([100, 10]));
    const hierarchy = await startHierarchy(source, tiers, { policy: { name: 'wrong', place: () => 0 } });
    await hierarchy.place('0');
    await expect(hierarchy.read('1')).rejects.toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
    await hierarchy.close();
  });

  it('an object larger than the memory is placed all the same, chunk by chunk', async () => {
    const objects = objectsOf([1000]);
    const source = new MetricsDriver(await memoryWith(objects));
    const tier = new HoldingDriver(new MemoryDriver(), { operations: ['writeAt'] });
    const hierarchy = await startHierarchy(source, [{ driver: tier, quota: '1TB' }], {
      memory: 300,
      chunk: 100,
    });
    const placed = hierarchy.place('0');
    await settled();
    for (let written = 0; written < 10; written++) {
      expect(hierarchy.stats().placement.fetchingBytes).toBeLessThanOrEqual(300);
      await tier.release();
      await settled();
    }
    expect(await placed).toBe(0);
    expect(await hierarchy.read('0')).toEqual(objects.get('0'));
    expect(source.metrics().operations.readInto).toMatchObject({ count: 10, bytes: 1000 });
    await hierarchy.close();
  });

  it('a level that cannot hold an object is not asked again, and the next level takes it', async () => {
    const refusing = new FaultDriver(new MemoryDriver(), {
      rules: [
        { operations: ['create'], fault: { kind: 'fail', code: 'TIERED_KEY_INVALID', retryable: false } },
      ],
    });
    const tiers = [
      { driver: refusing, quota: 100 },
      { driver: new MemoryDriver(), quota: 100 },
    ];
    const hierarchy = await startHierarchy(await memoryWith(objectsOf([100])), tiers);
    expect(await hierarchy.place('0')).toBe(2);
    expect(await hierarchy.place('0')).toBe(1);
    expect(refusing.injected.length).toBe(1);
    // The object is what is wrong, not the tier.
    expect(hierarchy.stats().tiers[0]).toMatchObject({ faults: 0, writable: true, reservedBytes: 0 });
    await hierarchy.close();
  });

  it('[Q1] an object for which this process has no memory stays in the source, with nothing reserved', async () => {
    class Huge extends MemoryDriver {
      override async stat(key: string) {
        return { key, size: Number.MAX_SAFE_INTEGER, version: '1' };
      }
    }
    const source = new Huge();
    await source.write('huge', someBytes(100, 1), { size: 100 });
    const tier = { driver: new MemoryDriver(), quota: Number.MAX_SAFE_INTEGER };
    const placement = new PlacementHandler({ chunk: 100 });
    const hierarchy = await new Hierarchy({ source, tiers: [tier], placement, scan: false }).open();
    expect(await hierarchy.read('huge', { length: 10 })).toEqual(someBytes(100, 1).subarray(0, 10));
    assertNothingHeld(hierarchy.stats());
    await hierarchy.close();
  });

  it('[Q1] a copy that was published though its write failed is deleted, and counts until it is', async () => {
    const memory = new MemoryDriver();
    const tier = new FaultDriver(memory, {
      rules: [
        { operations: ['publish'], nth: 1, fault: { kind: 'fail-after' } },
        { operations: ['delete'], nth: 1, fault: { kind: 'fail' } },
      ],
    });
    const hierarchy = await startHierarchy(await memoryWith(objectsOf([100, 100])), [
      { driver: tier, quota: 100 },
    ]);
    const read = async (key: string) => {
      await hierarchy.read(key);
      await hierarchy.idle();
      return { onTier: (await memory.usage({})).bytes, ...hierarchy.stats().tiers[0] };
    };
    expect(await read('0')).toMatchObject({ onTier: 100, reservedBytes: 100, usedBytes: 0, faults: 2 });
    expect(await read('1')).toMatchObject({ onTier: 100, reservedBytes: 100, usedBytes: 0 });
    // Asked for again, it is deleted first, and then placed.
    expect(await read('0')).toMatchObject({ onTier: 0, reservedBytes: 0, usedBytes: 0 });
    expect(await read('0')).toMatchObject({ onTier: 100, reservedBytes: 0, usedBytes: 100 });
    await hierarchy.close();
  });

  it('[A1] what was fetched of an older version is neither served nor published as the new one', async () => {
    const source = await memoryWith(objectsOf([100, 100]));
    const tier = new HoldingDriver(new MemoryDriver(), { operations: ['write'] });
    const placement = new PlacementHandler({ concurrency: 1, chunk: 100 });
    const hierarchy = new Hierarchy({
      source,
      tiers: [{ driver: tier, quota: 1000 }],
      placement,
      scan: false,
    });
    await hierarchy.open();
    await hierarchy.read('0');
    // The copy of 1 waits for its turn in the pool while 1 becomes another object.
    await hierarchy.read('1');
    const changed = someBytes(40, 99);
    await source.write('1', changed, { size: 40 });
    for await (const page of hierarchy.list()) expect(page.length).toBe(2);
    expect(await hierarchy.read('1')).toEqual(changed);
    await tier.releaseAll();
    await hierarchy.idle();
    expect((await hierarchy.stat('1')).level).toBe(1);
    expect(hierarchy.stats().tiers[0]).toMatchObject({ usedBytes: 100, reservedBytes: 0 });
    expect(await hierarchy.read('1')).toEqual(changed);
    await tier.releaseAll();
    await hierarchy.close();
  });

  it('a small part of an object does not keep the memory of the whole', async () => {
    const hierarchy = await startHierarchy(await memoryWith(objectsOf([10_000])), [
      { driver: new MemoryDriver(), quota: 10_000 },
    ]);
    expect((await hierarchy.read('0', { length: 100 })).buffer.byteLength).toBe(100);
    await hierarchy.close();
  });

  it('a copy of an older version is dropped as soon as a listing shows the new one', async () => {
    const source = await memoryWith(objectsOf([100]));
    const tier = { driver: new MemoryDriver(), quota: 1000 };
    const hierarchy = new Hierarchy({
      source,
      tiers: [tier],
      placement: new PlacementHandler({ chunk: 100 }),
      scan: false,
    });
    await hierarchy.open();
    await hierarchy.place('0');
    const changed = someBytes(150, 99);
    await source.write('0', changed, { size: 150 });
    for await (const page of hierarchy.list()) expect(page).toMatchObject([{ key: '0', size: 150 }]);
    expect(await hierarchy.read('0')).toEqual(changed);
    await hierarchy.idle();
    await hierarchy.read('0');
    await hierarchy.idle();
    expect(await hierarchy.read('0')).toEqual(changed);
    expect(hierarchy.stats().tiers[0]).toMatchObject({ usedBytes: 150, reservedBytes: 0 });
    await hierarchy.close();
  });

  it('starts with empty tiers: what an earlier run left is not trusted', async () => {
    const tier = await memoryWith(objectsOf([7, 8]));
    const hierarchy = await startHierarchy(await memoryWith(objectsOf([100])), [
      { driver: tier, quota: 1000 },
    ]);
    expect(await tier.usage({})).toMatchObject({ bytes: 0, objects: 0 });
    await hierarchy.close();
  });

  it.each([
    { concurrency: 0 },
    { concurrency: 1.5 },
    { chunk: 0 },
    { chunk: 'large' },
    { memory: -1 },
    { memory: 5 },
  ])('refuses options that cannot work: %o', async (options) => {
    const source = await memoryWith(objectsOf([1]));
    await expect(async () => startHierarchy(source, [], options)).rejects.toMatchObject({
      code: 'TIERED_CONFIG_INVALID',
    });
  });

  it('[A1] the source fails in mid-object: its readers learn it, nothing is published, and the next read tries again', async () => {
    const objects = objectsOf([1000]);
    const faulty = new FaultDriver(await memoryWith(objects), {
      rules: [{ operations: ['readInto'], nth: 3, fault: { kind: 'fail' } }],
    });
    const tier = new MemoryDriver();
    const hierarchy = await startHierarchy(faulty, [{ driver: tier, quota: 1000 }], { chunk: 100 });
    const failures: unknown[] = [];
    hierarchy.on('placementFailed', ({ error }) => failures.push(error));
    const first = hierarchy.read('0', { length: 200 });
    const whole = hierarchy.read('0');
    expect(await first).toEqual(objects.get('0')?.subarray(0, 200));
    await expect(whole).rejects.toMatchObject({ code: 'TIERED_FAULT_INJECTED', retryable: true });
    await hierarchy.idle();
    expect(failures.length).toBe(1);
    expect(await tier.usage({})).toMatchObject({ bytes: 0, objects: 0 });
    // The source failed, not the tier.
    expect(hierarchy.stats().tiers[0]).toMatchObject({ faults: 0, reservedBytes: 0, usedBytes: 0 });
    expect(await hierarchy.read('0')).toEqual(objects.get('0'));
    await hierarchy.idle();
    expect((await hierarchy.stat('0')).level).toBe(0);
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
  });
});
