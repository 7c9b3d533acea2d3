import { MemoryDriver, type HierarchyStats } from '@tiered/core';
import { FaultDriver, HoldingDriver, settled, TraceLog } from '@tiered/core/testing';
import { placeChannel, readChannel, type PlaceTrace } from '@tiered/core/tracing';
import { firstFit, promoting } from '@tiered/tiering';
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf, startHierarchy } from './helpers.js';

const WENT_WELL = 'start end asyncStart asyncEnd';
const FAILED = 'start end error asyncStart asyncEnd';

const outcomes = (log: TraceLog<PlaceTrace>) => log.traces.map(({ key, outcome }) => [key, outcome]);

/** Placements of a hierarchy, as its traces count them. */
function countsOf(log: TraceLog<PlaceTrace>): Partial<HierarchyStats['placement']> {
  const count = (isSo: (trace: PlaceTrace) => boolean) => log.traces.filter(isSo).length;
  return {
    placed: count(({ outcome, from }) => outcome === 'placed' && from === undefined),
    promoted: count(({ outcome, from }) => outcome === 'placed' && from !== undefined),
    failed: count(({ outcome }) => outcome === 'failed'),
  };
}

describe('the channel tiered:place', () => {
  it('[N2] has one trace for each object on its way, with its place and its bytes', async () => {
    const source = await memoryWith(objectsOf([100, 50, 30]));
    const tiers = [{ driver: new MemoryDriver(), quota: 170 }];
    await using hierarchy = await startHierarchy(source, tiers, { chunk: 20 });
    using log = new TraceLog(placeChannel);
    await hierarchy.read('0', { offset: 40, length: 5 });
    await hierarchy.read('0');
    await hierarchy.place('1');
    await hierarchy.idle();
    await hierarchy.read('2');
    await hierarchy.idle();
    const common = { hierarchy: 'memory', from: undefined, level: 0, driver: 'memory', outcome: 'placed' };
    expect(log.traces).toEqual([
      { ...common, key: '0', cause: 'read', size: 100, bytes: 100 },
      { ...common, key: '1', cause: 'place', size: 50, bytes: 50 },
      // Only its beginning has room.
      { ...common, key: '2', cause: 'read', size: 30, bytes: 20 },
    ]);
    expect(log.courses).toEqual([WENT_WELL, WENT_WELL, WENT_WELL]);
    expect(hierarchy.stats().placement).toMatchObject(countsOf(log));
  });

  it('[N2] tells what failed, and that a close abandons', async () => {
    const objects = await memoryWith(objectsOf([10, 10, 10]));
    const rules = [{ operations: ['readInto' as const], key: /1/, fault: { kind: 'fail' as const } }];
    const source = new HoldingDriver(new FaultDriver(objects, { rules }), { operations: ['readInto'] });
    const hierarchy = await startHierarchy(source, [{ driver: new MemoryDriver(), quota: 100 }]);
    using log = new TraceLog(placeChannel);
    const reads = ['0', '1', '2'].map((key) => hierarchy.read(key).catch(() => undefined));
    await settled();
    expect(log.courses).toEqual(['start end', 'start end', 'start end']);
    expect(outcomes(log)).toEqual([
      ['0', undefined],
      ['1', undefined],
      ['2', undefined],
    ]);
    await source.release();
    await source.release();
    const counts = hierarchy.stats().placement;
    const closed = hierarchy.close();
    await source.releaseAll();
    await Promise.all([closed, ...reads]);
    expect(outcomes(log)).toEqual([
      ['0', 'placed'],
      ['1', 'failed'],
      ['2', 'abandoned'],
    ]);
    expect(log.courses).toEqual([WENT_WELL, FAILED, WENT_WELL]);
    expect(log.traces.map(({ error }) => (error as { code?: string } | undefined)?.code)).toEqual([
      undefined,
      'TIERED_FAULT_INJECTED',
      undefined,
    ]);
    expect(counts).toMatchObject(countsOf(log));
  });

  it('[N2] tells which tier an object that moves up comes from', async () => {
    const source = await memoryWith(objectsOf([40]));
    const onlySlow = { ...firstFit, place: () => 1 };
    const tiers = [
      { driver: new MemoryDriver(), quota: 100 },
      { driver: new MemoryDriver(), quota: 100 },
    ];
    await using hierarchy = await startHierarchy(source, tiers, { policy: promoting(onlySlow), chunk: 40 });
    await hierarchy.place('0');
    using log = new TraceLog(placeChannel);
    await hierarchy.read('0');
    await hierarchy.idle();
    expect(log.traces).toMatchObject([
      { key: '0', cause: 'promotion', from: 1, level: 0, outcome: 'placed' },
    ]);
    expect(countsOf(log)).toEqual({ placed: 0, promoted: 1, failed: 0 });
    expect(hierarchy.stats().placement).toMatchObject({ promoted: 1 });
  });

  it('[N2] says that an object is dropped that became another one meanwhile', async () => {
    const objects = await memoryWith(objectsOf([10]));
    const tier = new HoldingDriver(new MemoryDriver(), { operations: ['write'] });
    const hierarchy = await startHierarchy(objects, [{ driver: tier, quota: 100 }]);
    using log = new TraceLog(placeChannel);
    const read = hierarchy.read('0');
    await settled();
    await objects.write('0', new Uint8Array(10).fill(7), { size: 10 });
    await hierarchy.rescan();
    await tier.releaseAll();
    await read;
    expect(outcomes(log)).toEqual([['0', 'discarded']]);
    await hierarchy.close();
  });

  it('begins as a part of the read that caused it, and what it does in the background is a part of it', async () => {
    const read = new AsyncLocalStorage<string | undefined>();
    const place = new AsyncLocalStorage<string>();
    const written: (string | undefined)[] = [];
    class Looking extends MemoryDriver {
      override async write(...args: Parameters<MemoryDriver['write']>) {
        written.push(place.getStore());
        return super.write(...args);
      }
    }
    const tiers = [{ driver: new Looking(), quota: 100 }];
    await using hierarchy = await startHierarchy(await memoryWith(objectsOf([10, 10, 10])), tiers);
    const begun: (readonly [string, string | undefined])[] = [];
    const subscriber = { start: ({ key }: PlaceTrace) => void begun.push([key, read.getStore()]) };
    readChannel.start.bindStore(read, ({ key }) => key);
    placeChannel.start.bindStore(place, ({ key }) => key);
    placeChannel.subscribe(subscriber);
    await Promise.all([hierarchy.read('0'), hierarchy.read('1'), hierarchy.place('2')]);
    await hierarchy.idle();
    readChannel.start.unbindStore(read);
    placeChannel.start.unbindStore(place);
    placeChannel.unsubscribe(subscriber);
    expect(begun.sort()).toEqual([
      ['0', '0'],
      ['1', '1'],
      ['2', undefined],
    ]);
    expect(written).toContain('2');
  });
});

describe('the channel tiered:read over tiers', () => {
  it('[N2] tells tiers, the source and joined reads apart', async () => {
    const source = new HoldingDriver(await memoryWith(objectsOf([100, 100])), { operations: ['readInto'] });
    const tiers = [
      { driver: new MemoryDriver({ name: 'fast' }), quota: 100 },
      { driver: new MemoryDriver({ name: 'slow' }), quota: 150 },
    ];
    await using hierarchy = await startHierarchy(source, tiers, { chunk: 50 });
    using log = new TraceLog(readChannel);
    const [own, joined] = [hierarchy.read('0'), hierarchy.read('0', { length: 10 })];
    await source.releaseAll();
    await Promise.all([own, joined, hierarchy.place('1').finally(() => undefined), source.releaseAll()]);
    await source.releaseAll();
    await hierarchy.idle();
    await hierarchy.read('0');
    await hierarchy.read('1');
    await hierarchy.readMany(['0', '1'].map((key) => ({ key, target: new Uint8Array(30) })));
    expect(log.traces).toMatchObject([
      { key: '0', level: 2, driver: 'memory', served: { fromSource: 1 } },
      { key: '0', level: 2, driver: 'memory', served: { joined: 1 } },
      { key: '0', level: 0, driver: 'fast', served: { fromTiers: 1 } },
      { key: '1', level: 1, driver: 'slow', served: { fromTiers: 1 } },
      { operation: 'readMany', level: 1, driver: 'slow', served: { fromTiers: 2 }, bytes: 60 },
    ]);
  });
});
