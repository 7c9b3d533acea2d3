import { MemoryDriver, type StorageDriver } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import {
  FaultDriver,
  type FaultRule,
  assertNothingHeld,
  HoldingDriver,
  IndexedMemoryDriver,
  settled,
} from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf, startHierarchy, until } from './helpers.js';

/** Others can reach it, and it keeps no index. */
class Bucket extends InterceptingDriver {
  override get location(): string {
    return 'memory://bucket/';
  }
  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }
}

/** Has done what it is asked for before it is held. */
class HoldingAfter extends InterceptingDriver {
  readonly held: (() => void)[] = [];
  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    const result = await call.proceed();
    if (call.operation === 'write') await new Promise<void>((resolve) => this.held.push(resolve));
    return result;
  }
}

/** One for each kind of store; `lasts` says whether a next process finds what is there. */
const KINDS: readonly { kind: string; make: () => StorageDriver; lasts: boolean }[] = [
  { kind: 'RAM', make: () => new MemoryDriver(), lasts: false },
  { kind: 'with an index', make: () => new IndexedMemoryDriver(), lasts: true },
  { kind: 'a bucket', make: () => new Bucket(new MemoryDriver()), lasts: true },
];

const CHUNK = 10;
const SIZES = [0, 1, CHUNK];

const written = (driver: MetricsDriver) => driver.metrics().operations;

describe.each(KINDS)('copies of one chunk or none, on a tier: $kind', ({ make, lasts }) => {
  it('[A1] [T1] are written in one call of its driver, and are what the source has', async () => {
    const objects = objectsOf([...SIZES, CHUNK + 1]);
    const source = new MetricsDriver(await memoryWith(objects));
    const inner = make();
    const tier = new MetricsDriver(inner);
    const hierarchy = await startHierarchy(source, [{ driver: tier, quota: '1MB' }]);
    await hierarchy.idle();
    const before = written(tier).write?.count ?? 0;
    for (const key of objects.keys()) expect(await hierarchy.place(key)).toBe(0);
    for (const [key, bytes] of objects) expect(await hierarchy.read(key)).toEqual(bytes);
    // The marker of a bucket, which was written before, and the copy of two chunks left out.
    expect(written(tier).write?.count).toBe(before + SIZES.length);
    expect(written(tier).create?.count).toBe(1);
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
    if (!lasts) return;
    const brought = source.metrics().operations.readInto?.bytes;
    const next = await startHierarchy(source, [{ driver: inner, quota: '1MB' }]);
    await next.idle();
    for (const [key, bytes] of objects) expect(await next.read(key)).toEqual(bytes);
    expect(source.metrics().operations.readInto?.bytes).toBe(brought);
    expect(next.stats().placement).toMatchObject({ damaged: 0, outdated: 0 });
    await next.close();
  });

  it.each<FaultRule['fault']>([
    { kind: 'fail' },
    { kind: 'fail-after' },
    { kind: 'fail', code: 'TIERED_NO_SPACE', retryable: false },
  ])('[R2] [A1] [Q1] a write that fails (%o) fails no read, and leaves nothing', async (fault) => {
    const objects = objectsOf([CHUNK]);
    const inner = make();
    // The first write to a bucket is that of its marker.
    const rules: FaultRule[] = [{ operations: ['write'], key: /^0/, fault }];
    const tier = new FaultDriver(inner, { rules });
    const hierarchy = await startHierarchy(await memoryWith(objects), [{ driver: tier, quota: '1MB' }]);
    await hierarchy.idle();
    const { bytes } = await inner.usage({});
    expect(await hierarchy.read('0')).toEqual(objects.get('0'));
    await hierarchy.idle();
    expect(tier.injected).toHaveLength(1);
    expect(await inner.usage({})).toMatchObject({ bytes });
    expect(hierarchy.stats().tiers[0]).toMatchObject({ reservedBytes: 0 });
    expect(hierarchy.stats().placement).toMatchObject({ placed: 0, failed: 1 });
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
  });

  it('[F1] reads that come while one is written are served from memory', async () => {
    const objects = objectsOf([CHUNK]);
    const source = new MetricsDriver(await memoryWith(objects));
    const tier = new HoldingDriver(make(), { operations: ['write'] });
    const starting = startHierarchy(source, [{ driver: tier, quota: '1MB' }]);
    if (tier.location !== undefined) await until(() => tier.held.length === 1);
    await tier.releaseAll();
    const hierarchy = await starting;
    await hierarchy.idle();
    await hierarchy.read('0');
    await until(() => tier.held.length === 1);
    expect(await hierarchy.read('0', { offset: 3, length: 4 })).toEqual(objects.get('0')?.subarray(3, 7));
    await tier.releaseAll();
    await hierarchy.idle();
    expect((await hierarchy.stat('0')).level).toBe(0);
    expect(source.metrics().operations.readInto?.bytes).toBe(CHUNK);
    await hierarchy.close();
  });
});

describe('close while a copy of one chunk is written', () => {
  it('[C1] [Q1] one that was published is there afterwards, and in the index', async () => {
    const inner = new IndexedMemoryDriver();
    const tier = new HoldingAfter(inner);
    const source = new MetricsDriver(await memoryWith(objectsOf([CHUNK])));
    const first = await startHierarchy(source, [{ driver: tier, quota: 1000 }]);
    await first.read('0');
    await until(() => tier.held.length === 1);
    const closing = first.close();
    await settled();
    tier.held[0]?.();
    await closing;
    assertNothingHeld(first.stats());
    const next = await startHierarchy(source, [{ driver: inner, quota: 1000 }]);
    await next.idle();
    expect(next.stats().tiers[0]).toMatchObject({ usedBytes: CHUNK, reservedBytes: 0 });
    expect(next.stats().placement.adopted).toBe(1);
    await next.close();
  });

  it('[C1] one that was not begun leaves nothing', async () => {
    const inner = new IndexedMemoryDriver();
    const tier = new HoldingDriver(inner, { operations: ['write'] });
    const source = await memoryWith(objectsOf([CHUNK]));
    const hierarchy = await startHierarchy(source, [{ driver: tier, quota: 1000 }]);
    await hierarchy.read('0');
    await until(() => tier.held.length === 1);
    const closing = hierarchy.close();
    await settled();
    await tier.releaseAll();
    await closing;
    assertNothingHeld(hierarchy.stats());
    expect(await inner.usage({})).toMatchObject({ bytes: 0, objects: 0 });
  });
});
