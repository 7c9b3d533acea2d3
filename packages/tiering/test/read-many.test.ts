import { Hierarchy, MemoryDriver, type OperationOptions } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import type { ReadRequest } from '@tiered/core/driver';
import { FaultDriver, assertNothingHeld, HoldingDriver, ManualClock, settled } from '@tiered/core/testing';
import { PlacementHandler } from '@tiered/tiering';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf, startHierarchy } from './helpers.js';

const SIZES = [100, 200, 300, 400];
const KEYS = ['0', '1', '2', '3'];

/** A tier that tells which batches it was asked for. */
class Batches extends MemoryDriver {
  readonly asked: string[][] = [];

  override readMany(requests: readonly ReadRequest[], options: OperationOptions) {
    this.asked.push(requests.map(({ key }) => key));
    return super.readMany(requests, options);
  }
}

/** Reads objects whole, in one batch, and sees that they are right. */
async function readAll(hierarchy: Hierarchy, keys = KEYS): Promise<void> {
  const objects = objectsOf(SIZES);
  const requests = keys.map((key) => ({ key, target: new Uint8Array(objects.get(key)?.byteLength ?? 0) }));
  expect(await hierarchy.readMany(requests)).toEqual(
    requests.map(({ target }) => ({ bytes: target.byteLength })),
  );
  for (const { key, target } of requests) expect(target).toEqual(objects.get(key));
}

describe('readMany of a hierarchy with tiers', () => {
  it('[R1] asks each tier once for what it holds, and counts each read as a single one', async () => {
    const tiers = [new Batches(), new Batches()] as const;
    const hierarchy = await startHierarchy(await memoryWith(objectsOf(SIZES)), [
      { driver: tiers[0], quota: 300 },
      { driver: tiers[1], quota: 700 },
    ]);
    for (const key of KEYS) await hierarchy.place(key);
    await readAll(hierarchy);
    expect(tiers.map(({ asked }) => asked)).toEqual([[['0', '1']], [['2', '3']]]);
    expect(hierarchy.stats()).toMatchObject({
      tiers: [
        { reads: 2, readBytes: 300, faults: 0 },
        { reads: 2, readBytes: 700, faults: 0 },
      ],
      source: { readBytes: 1000 },
    });
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
  });

  it('[F1] places what it reads from the source, each byte asked for once', async () => {
    const source = new MetricsDriver(await memoryWith(objectsOf(SIZES)));
    const hierarchy = await startHierarchy(source, [{ driver: new MemoryDriver(), quota: 1000 }], {
      chunk: 150,
    });
    await Promise.all([readAll(hierarchy), readAll(hierarchy, ['3', '3', '0'])]);
    await hierarchy.idle();
    expect(source.metrics().operations.readInto).toMatchObject({ bytes: 1000, count: 1 + 2 + 2 + 3 });
    await readAll(hierarchy);
    expect(hierarchy.stats()).toMatchObject({ source: { readBytes: 1000 }, placement: { placed: 4 } });
    await hierarchy.close();
  });

  it('[F1] [N1] asks the source once for all pieces of an object that stays there, and counts one read', async () => {
    const source = new Batches();
    for (const [key, bytes] of objectsOf(SIZES)) await source.write(key, bytes, { size: bytes.byteLength });
    const hierarchy = await startHierarchy(source, [{ driver: new MemoryDriver(), quota: 0 }]);
    const pieces = Float64Array.from({ length: 400 }, (_, i) => (i % 2 === 0 ? i / 2 : 1));
    const target = new Uint8Array(200);
    expect(await hierarchy.readMany([{ key: '2', target, offset: 50, pieces }])).toEqual([{ bytes: 200 }]);
    expect(target).toEqual(objectsOf(SIZES).get('2')?.subarray(50, 250));
    expect(source.asked).toEqual([['2']]);
    expect(hierarchy.stats()).toMatchObject({
      reads: { total: 1, fromSource: 1 },
      source: { reads: 1, readBytes: 200 },
    });
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
  });

  it('[R1] [N1] pieces of an object that is being placed come from its chunks, as one read', async () => {
    const source = new MetricsDriver(await memoryWith(objectsOf(SIZES)));
    const hierarchy = await startHierarchy(source, [{ driver: new MemoryDriver(), quota: 1000 }]);
    const pieces = Float64Array.of(390, 10, 0, 10, 5, 3);
    const target = new Uint8Array(23);
    expect(await hierarchy.readMany([{ key: '3', target, pieces }])).toEqual([{ bytes: 23 }]);
    const bytes = objectsOf(SIZES).get('3') ?? new Uint8Array();
    expect([...target]).toEqual([...bytes.subarray(390), ...bytes.subarray(0, 10), ...bytes.subarray(5, 8)]);
    await hierarchy.idle();
    expect(hierarchy.stats()).toMatchObject({
      reads: { total: 1, fromSource: 1 },
      source: { readBytes: 400 },
    });
    await hierarchy.close();
  });

  it('[R2] a tier that fails, or gives too little, is counted and passed over', async () => {
    for (const kind of ['fail', 'truncate', 'fail-after'] as const) {
      const clock = new ManualClock();
      const tier = new FaultDriver(new MemoryDriver(), {
        rules: [{ operations: ['readInto', 'read'], key: /[123]/, fault: { kind } }],
      });
      const hierarchy = await new Hierarchy({
        source: await memoryWith(objectsOf(SIZES)),
        tiers: [{ driver: tier, quota: 1000 }],
        placement: new PlacementHandler({ chunk: 10 }),
        clock,
      }).open();
      for (const key of KEYS) await hierarchy.place(key);
      const faults: string[] = [];
      hierarchy.on('tierFault', ({ key }) => faults.push(key));
      await readAll(hierarchy);
      expect(faults.sort(), kind).toEqual(['1', '2', '3']);
      expect(hierarchy.stats().tiers[0], kind).toMatchObject({ faults: 3, reads: 1, readable: false });
      const injected = tier.injected.length;
      await readAll(hierarchy);
      expect(tier.injected, 'out of service').toHaveLength(injected);
      await hierarchy.close();
    }
  });

  it('[R2] a copy that is missing is dropped, and the source serves the read', async () => {
    const tier = new MemoryDriver();
    const hierarchy = await startHierarchy(await memoryWith(objectsOf(SIZES)), [
      { driver: tier, quota: 1000 },
    ]);
    for (const key of KEYS) await hierarchy.place(key);
    await tier.delete('2', {});
    const dropped: unknown[] = [];
    hierarchy.on('dropped', (event) => dropped.push(event));
    await readAll(hierarchy);
    expect(dropped).toEqual([{ key: '2', level: 0, reason: 'missing' }]);
    expect(hierarchy.stats().tiers[0]).toMatchObject({ faults: 1 });
    await hierarchy.idle();
    await readAll(hierarchy);
    await hierarchy.close();
  });

  it('[B1] [C1] an aborted batch and a closed hierarchy end when the tier has let go', async () => {
    const tier = new HoldingDriver(new MemoryDriver(), { operations: ['readInto'] });
    const hierarchy = await startHierarchy(await memoryWith(objectsOf(SIZES)), [
      { driver: tier, quota: 1000 },
    ]);
    for (const key of KEYS) await hierarchy.place(key);
    const requests = KEYS.map((key) => ({ key, target: new Uint8Array(10) }));
    const controller = new AbortController();
    const reason = new Error('enough');
    const ended: string[] = [];
    const aborted = expect(
      hierarchy.readMany(requests, { signal: controller.signal }).finally(() => ended.push('aborted')),
    ).rejects.toBe(reason);
    const closed = expect(
      hierarchy.readMany(requests).finally(() => ended.push('closed')),
    ).rejects.toMatchObject({
      code: 'TIERED_CLOSED',
    });
    await settled();
    controller.abort(reason);
    const closing = hierarchy.close().then(() => ended.push('close'));
    await settled();
    expect(ended).toEqual([]);
    await tier.releaseAll();
    await Promise.all([aborted, closed, closing]);
    expect(ended.at(-1)).toBe('close');
    expect(hierarchy.stats()).toMatchObject({ tiers: [{ faults: 0 }], activeReads: 0 });
  });
});
