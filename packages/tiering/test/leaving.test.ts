import { Hierarchy, MemoryDriver } from '@tiered/core';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import {
  FaultDriver,
  IndexedMemoryDriver,
  HoldingDriver,
  ManualClock,
  settled,
  someBytes,
} from '@tiered/core/testing';
import { PlacementHandler, type PlacementPolicy } from '@tiered/tiering';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf, startHierarchy, until } from './helpers.js';

/** How a promise ends, without failing for it. */
function endOf<T>(promise: Promise<T>): Promise<{ value?: T; error?: unknown }> {
  return promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}

/** Counts calls under way, and tells how many there were at close. */
class Outstanding extends InterceptingDriver {
  running = 0;
  atClose: number | undefined;
  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    this.running += 1;
    try {
      return await call.proceed();
    } finally {
      this.running -= 1;
    }
  }
  override async close(): Promise<void> {
    this.atClose = this.running;
    await super.close();
  }
}

/** An object of which a tier holds the first 60 bytes of 100; requests for the rest wait. */
async function partlyPlaced() {
  const objects = objectsOf([100]);
  const source = new HoldingDriver(await memoryWith(objects), { operations: ['readInto'] });
  const h = await startHierarchy(source, [{ driver: new MemoryDriver(), quota: 60 }]);
  const placed = h.place('0');
  await source.releaseAll();
  await placed;
  return { objects, source, h };
}

describe('what readers leave behind', () => {
  it('[R2] a source that fails while the tier is still reading fails the read, and nothing else', async () => {
    const objects = objectsOf([100]);
    const source = new FaultDriver(await memoryWith(objects), {
      rules: [{ operations: ['readInto'], nth: 7, fault: { kind: 'fail' } }],
    });
    const tier = new HoldingDriver(new MemoryDriver(), { operations: ['readInto'] });
    const h = await startHierarchy(source, [{ driver: tier, quota: 60 }]);
    await h.place('0');
    expect(h.stats().tiers[0]?.usedBytes).toBe(60);
    const unhandled: unknown[] = [];
    const listen = (e: unknown) => unhandled.push(e);
    process.on('unhandledRejection', listen);
    const read = endOf(h.read('0', { offset: 50, length: 20 }));
    await settled();
    await settled();
    await tier.releaseAll();
    expect(await read).toMatchObject({ error: { code: 'TIERED_FAULT_INJECTED' } });
    await settled();
    process.off('unhandledRejection', listen);
    expect(unhandled).toEqual([]);
    await h.close();
  });

  it('[B1] an aborted read of an object that is partly on a tier ends at once', async () => {
    const { source, h } = await partlyPlaced();
    const abort = new AbortController();
    let ended = false;
    const read = endOf(h.read('0', { offset: 50, length: 20, signal: abort.signal })).then((o) => {
      ended = true;
      return o;
    });
    await settled();
    expect(source.held.length).toBe(1);
    abort.abort(new Error('enough'));
    await settled();
    expect(ended).toBe(true);
    await source.releaseAll();
    await read;
    await h.close();
  });

  it('[B1] others who want the same range go on when the first aborts, and nothing is asked twice', async () => {
    const { objects, source, h } = await partlyPlaced();
    const abort = new AbortController();
    const range = { offset: 70, length: 20 };
    const first = endOf(h.read('0', { ...range, signal: abort.signal }));
    const second = h.read('0', range);
    await settled();
    abort.abort(new Error('enough'));
    await source.releaseAll();
    await first;
    expect(await second).toEqual(objects.get('0')?.subarray(70, 90));
    expect(h.stats().source.reads).toBe(7);
    await h.close();
  });

  it('[C1] close waits for the check of a copy whose readers left', async () => {
    const inner = new IndexedMemoryDriver();
    const source = await memoryWith(objectsOf([20, 20]));
    const first = await startHierarchy(source, [{ driver: inner, quota: 1000 }]);
    await first.place('0');
    await first.close();
    const held = new HoldingDriver(inner, { operations: ['read'] });
    const tier = new Outstanding(held);
    const h = await startHierarchy(source, [{ driver: tier, quota: 1000 }]);
    const read = endOf(h.read('0'));
    await until(() => held.held.length === 1);
    const closing = h.close();
    await settled();
    await held.releaseAll();
    await closing;
    await read;
    expect(tier.atClose).toBe(0);
  });

  it('[C1] close waits for what an aborted read of several chunks left at the tier', async () => {
    const source = new HoldingDriver(await memoryWith(objectsOf([100])), { operations: ['readInto'] });
    const held = new HoldingDriver(new MemoryDriver(), { operations: ['readInto'] });
    const tier = new Outstanding(held);
    const h = await startHierarchy(source, [{ driver: tier, quota: 1000 }], { concurrency: 1 });
    const a = h.read('0', { length: 10 });
    await settled();
    await source.release({ index: 0 });
    await a;
    await settled();
    const abort = new AbortController();
    const b = endOf(h.read('0', { length: 20, signal: abort.signal }));
    await settled();
    expect(held.held.length).toBe(1);
    abort.abort(new Error('enough'));
    await b;
    const closing = h.close();
    await settled();
    await source.releaseAll();
    await settled();
    const early = tier.atClose;
    await held.releaseAll();
    await closing;
    expect(early ?? tier.atClose).toBe(0);
  });

  it('[C1] close waits for old copies that are deleted in the background', async () => {
    const inner = new IndexedMemoryDriver();
    const source = await memoryWith(objectsOf([20, 20]));
    const first = await startHierarchy(source, [{ driver: inner, quota: 1000 }]);
    await first.place('0');
    await first.close();
    await source.write('0', someBytes(20, 9), { size: 20 });
    const held = new HoldingDriver(inner, { operations: ['delete'] });
    const tier = new Outstanding(held);
    const abort = new AbortController();
    const h = new Hierarchy({
      source,
      tiers: [{ driver: tier, quota: 1000 }],
      placement: new PlacementHandler({ chunk: 10 }),
    });
    await h.open({ signal: abort.signal });
    await until(() => held.held.length === 1);
    abort.abort(new Error('enough'));
    const closing = h.close();
    await settled();
    await held.releaseAll();
    await closing;
    expect(tier.atClose).toBe(0);
  });
});

describe('place', () => {
  it('[Q1] does not wait for ever for an old copy that cannot be deleted', async () => {
    const objects = objectsOf([20]);
    const source = await memoryWith(objects);
    let looks = 0;
    class Clock extends ManualClock {
      override now() {
        looks += 1;
        if (looks > 5000) throw new Error('spins');
        return super.now();
      }
    }
    const tier = new FaultDriver(new MemoryDriver(), {
      rules: [{ operations: ['delete'], fault: { kind: 'fail' } }],
    });
    const h = await new Hierarchy({
      source,
      tiers: [{ driver: tier, quota: 1000 }],
      placement: new PlacementHandler({ chunk: 10 }),
      clock: new Clock(),
    }).open();
    await h.place('0');
    await source.write('0', someBytes(20, 9), { size: 20 });
    await h.rescan();
    expect(await endOf(h.place('0'))).toEqual({ value: 1 });
    looks = 0;
    await h.close();
  });
});

describe('a tier that hangs while a copy of several chunks is on its way', () => {
  /** The first chunks are written, and reads of them hang; requests to the source from the fourth on wait. */
  async function hanging() {
    const objects = objectsOf([100]);
    const source = new HoldingDriver(await memoryWith(objects), { operations: ['readInto'] });
    const rules = [{ operations: ['readInto'], fault: { kind: 'hang' } }] as const;
    const tier = new FaultDriver(new MemoryDriver(), { rules });
    const clock = new ManualClock();
    const placement = new PlacementHandler({ chunk: 10, concurrency: 1 });
    const tiers = [{ driver: tier, quota: 1000, readDeadlineMs: 1000 }];
    const h = await new Hierarchy({ source, tiers, placement, clock }).open();
    const first = h.read('0', { offset: 0, length: 10 });
    await until(() => source.held.length > 0);
    await source.release();
    await first;
    return { objects, source, tier, clock, h };
  }

  it('[R2] is a fault of the tier after its deadline, and the bytes are those of the source', async () => {
    const { objects, source, tier, clock, h } = await hanging();
    const read = h.read('0', { offset: 0, length: 5 });
    await until(() => tier.injected.length > 0);
    await clock.advance(2000);
    await until(() => source.held.length > 0);
    await source.releaseAll();
    expect(await read).toEqual(objects.get('0')?.subarray(0, 5));
    expect(h.stats().tiers[0]?.faults).toBe(1);
    await h.close();
  });

  it('[B1] keeps no reader that has aborted', async () => {
    const { source, tier, h } = await hanging();
    const abort = new AbortController();
    const target = new Uint8Array(5);
    const read = endOf(h.readInto('0', target, { signal: abort.signal }));
    await until(() => tier.injected.length > 0);
    const enough = new Error('enough');
    abort.abort(enough);
    expect(await read).toEqual({ error: enough });
    const closing = h.close();
    await source.releaseAll();
    await closing;
  });
});

describe('copies that changed', () => {
  it('[V2] a read of all of an object that grew while its copy was checked gives all of the new one', async () => {
    const objects = objectsOf([20]);
    const inner = new IndexedMemoryDriver();
    const source = await memoryWith(objects);
    const first = await startHierarchy(source, [{ driver: inner, quota: 1000 }]);
    await first.place('0');
    await first.close();
    const tier = new HoldingDriver(inner, { operations: ['read'] });
    const h = await startHierarchy(source, [{ driver: tier, quota: 1000 }]);
    const read = h.read('0');
    await until(() => tier.held.length === 1);
    const grown = someBytes(40, 9);
    await source.write('0', grown, { size: 40 });
    await h.rescan();
    await h.idle();
    await tier.releaseAll();
    expect(await read).toEqual(grown);
    await h.close();
  });

  it('[T3] an old copy that another process removes does not take the present one out of service', async () => {
    const inner = new IndexedMemoryDriver();
    const source = await memoryWith(objectsOf([20, 20]));
    const a = await startHierarchy(source, [{ driver: inner, quota: 1000 }]);
    const b = await startHierarchy(source, [{ driver: inner, quota: 1000 }]);
    await a.place('0');
    await source.write('0', someBytes(20, 9), { size: 20 });
    await b.rescan();
    expect(await b.place('0')).toBe(0);
    await a.rescan();
    await a.idle();
    await b.place('1');
    expect((await b.stat('0')).level).toBe(0);
    await a.close();
    await b.close();
  });

  it('[Q1] copies of one object on two tiers that could not be deleted are both tried again', async () => {
    const source = await memoryWith(objectsOf([20]));
    let up = false;
    const policy: PlacementPolicy = { name: 'x', place: () => 1, promote: () => (up ? 0 : undefined) };
    let fail = true;
    class Stubborn extends MemoryDriver {
      override async delete(...args: Parameters<MemoryDriver['delete']>): Promise<void> {
        if (fail) throw new Error('no');
        await super.delete(...args);
      }
    }
    const h = await startHierarchy(
      source,
      [
        { driver: new Stubborn(), quota: 1000 },
        { driver: new Stubborn(), quota: 1000 },
      ],
      { policy },
    );
    await h.place('0');
    up = true;
    await h.read('0');
    await h.idle();
    expect((await h.stat('0')).level).toBe(0);
    await source.write('0', someBytes(20, 9), { size: 20 });
    await h.rescan();
    await h.idle();
    fail = false;
    up = false;
    await h.read('0');
    await h.idle();
    await h.read('0');
    await h.idle();
    expect(h.stats().tiers.map(({ usedBytes }) => usedBytes)).toEqual([0, 20]);
    await h.close();
  });
});

it('[Q1] [C1] what could not be deleted is tried again in the background, until it is gone or all is closed', async () => {
  for (const fails of [1, 4]) {
    const objects = objectsOf([20, 20]);
    const tier = new IndexedMemoryDriver();
    const rules = Array.from({ length: fails }, (_, i) => ({
      operations: ['delete'] as const,
      nth: i + 1,
      fault: { kind: 'fail' } as const,
    }));
    const driver = new FaultDriver(tier, { rules });
    const source = await memoryWith(objects);
    const clock = new ManualClock();
    const placement = new PlacementHandler({ chunk: 10 });
    const h = new Hierarchy({ source, tiers: [{ driver, quota: 1000 }], placement, clock });
    await h.open();
    await h.place('0');
    await source.write('0', someBytes(30, 7), { size: 30 });
    await h.rescan();
    await h.idle();
    const used = () => h.stats().tiers[0]?.usedBytes ?? 0;
    expect(used()).toBe(20);
    for (let pauses = 0; used() > 0 && pauses < 20; pauses++) {
      await clock.advance(1000);
      await h.idle();
    }
    expect(used()).toBe(0);
    expect(h.stats().tiers[0]?.faults).toBe(fails);
    await h.close();
    expect(clock.sleepingInBackground).toBe(0);
  }
});
