import { MemoryDriver, type StorageDriver } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { InterceptingDriver, type DriverCall, type ObjectWriter } from '@tiered/core/driver';
import { FaultDriver, HoldingDriver, outcomeOf, settled } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { ChunkSize } from '../src/source/chunk-size.js';
import { SourceGate } from '../src/source/gate.js';
import { memoryWith, objectsOf, startHierarchy } from './helpers.js';

/** Holds reads of a source, and tells at which offset each began. */
class HeldSource {
  readonly offsets: number[] = [];
  readonly holding: HoldingDriver;

  constructor(inner: StorageDriver) {
    const { offsets } = this;
    class Noting extends InterceptingDriver {
      override readInto(...[key, target, options]: Parameters<StorageDriver['readInto']>): Promise<number> {
        offsets.push(options.offset);
        return super.readInto(key, target, options);
      }
      protected override intercept<T>(call: DriverCall<T>): Promise<T> {
        return call.proceed();
      }
    }
    this.holding = new HoldingDriver(new Noting(inner), { operations: ['readInto'] });
  }

  /** Offsets of requests in the order in which the caller made them; released ones only. */
  async releaseAll(): Promise<number[]> {
    await this.holding.releaseAll();
    return this.offsets;
  }
}

const TIER = () => ({ driver: new MemoryDriver(), quota: 10_000 });

it('a quota below one chunk is refused, with both in the same unit', () => {
  const tier = { driver: new MemoryDriver(), quota: '512KiB' };
  expect(() => startHierarchy(new MemoryDriver(), [tier], { chunk: '4MiB' })).toThrow(
    'tiers[0].quota: expected at least one chunk (placement.chunk), which is 4194304 bytes (4 MiB), got 524288',
  );
});

describe('chunks of an object that is being placed', () => {
  it('[F3] a chunk that a reader needs is asked for at once, however much is queued in the background', async () => {
    const objects = objectsOf([1000]);
    const source = new HeldSource(await memoryWith(objects));
    const hierarchy = await startHierarchy(source.holding, [TIER()], { chunk: 100, concurrency: 2 });
    const placed = hierarchy.place('0');
    await settled();
    expect(source.holding.held.length).toBe(2);
    const read = hierarchy.read('0', { offset: 750, length: 10 });
    await settled();
    expect(source.holding.held.length).toBe(3);
    await source.holding.release({ index: 2 });
    expect(await read).toEqual(objects.get('0')?.subarray(750, 760));
    expect(source.offsets).toEqual([700]);
    await source.releaseAll();
    expect(await placed).toBe(0);
    expect(source.offsets.toSorted((a, b) => a - b)).toEqual([
      0, 100, 200, 300, 400, 500, 600, 700, 800, 900,
    ]);
    await hierarchy.close();
  });

  it('[F3] while a reader waits, one request goes on in the background; when none does, as many as there may be', async () => {
    const source = new HeldSource(await memoryWith(objectsOf([1000, 1000])));
    const hierarchy = await startHierarchy(source.holding, [TIER()], { chunk: 100, concurrency: 4 });
    const read = hierarchy.read('0', { length: 10 });
    await settled();
    // The reader's, and one beside it.
    expect(source.holding.held.length).toBe(2);
    await source.holding.release();
    await read;
    await settled();
    expect(source.holding.held.length).toBe(4);
    const other = hierarchy.read('1', { length: 10 });
    await settled();
    // Those that are under way are not taken back.
    expect(source.holding.held.length).toBe(5);
    await source.holding.release();
    await source.holding.release();
    expect(source.holding.held.length).toBe(3);
    await source.releaseAll();
    await other;
    await hierarchy.close();
  });

  it('the background goes on from where the last reader was', async () => {
    const source = new HeldSource(await memoryWith(objectsOf([1000])));
    const hierarchy = await startHierarchy(source.holding, [TIER()], { chunk: 100, concurrency: 1 });
    const read = hierarchy.read('0', { offset: 550, length: 10 });
    await source.releaseAll();
    await read;
    await hierarchy.idle();
    expect(source.offsets).toEqual([500, 600, 700, 800, 900, 0, 100, 200, 300, 400]);
    await hierarchy.close();
  });

  it('[F4] what is on the tier already is read from there, in mid-object, before the object is placed', async () => {
    const objects = objectsOf([1000]);
    const held = new HoldingDriver(await memoryWith(objects), { operations: ['readInto'] });
    const source = new MetricsDriver(held);
    const tier = new MetricsDriver(new MemoryDriver());
    const hierarchy = await startHierarchy(source, [{ driver: tier, quota: 1000 }], {
      chunk: 100,
      memory: 100,
      concurrency: 1,
    });
    const handle = await hierarchy.handle('0');
    const first = handle.read({ length: 100 });
    await settled();
    await held.release({ index: 0 });
    expect(await first).toEqual(objects.get('0')?.subarray(0, 100));
    await settled();
    expect(tier.metrics().operations.writeAt?.count).toBe(1);
    const again = await handle.read({ offset: 20, length: 50 });
    expect(again).toEqual(objects.get('0')?.subarray(20, 70));
    expect((await hierarchy.stat('0')).level).toBe(1);
    expect(tier.metrics().operations.readInto?.bytes).toBe(50);
    expect(source.metrics().operations.readInto?.bytes).toBe(100);
    await held.releaseAll();
    await hierarchy.idle();
    expect(source.metrics().operations.readInto?.bytes).toBe(1000);
    await hierarchy.close();
  });

  it.each([0, 1])(
    '[F1] a read that comes while the copy is being published asks the source for nothing (%d)',
    async (when) => {
      const objects = objectsOf([300]);
      const source = new MetricsDriver(await memoryWith(objects));
      // What is published cannot be read through its writer any more.
      class Closing extends MemoryDriver {
        override async create(...args: Parameters<MemoryDriver['create']>): Promise<ObjectWriter> {
          const writer = await super.create(...args);
          let open = true;
          return {
            writeAt: (...parts) => writer.writeAt(...parts),
            readInto: (...parts) => (open ? writer.readInto(...parts) : Promise.reject(new Error('closed'))),
            publish: async (options) => {
              open = false;
              await writer.publish(options);
            },
            discard: () => writer.discard(),
          };
        }
      }
      const tier = new HoldingDriver(new Closing(), { operations: ['publish', 'readInto'] });
      const hierarchy = await startHierarchy(source, [{ driver: tier, quota: 1000 }], { chunk: 100 });
      await hierarchy.read('0', { length: 10 });
      await settled();
      expect(tier.held.map(({ operation }) => operation)).toEqual(['publish']);
      const read = hierarchy.read('0', { offset: 150, length: 100 });
      await settled();
      // Either the publishing goes on first, or the read.
      await tier.release({ index: when });
      await tier.releaseAll();
      expect(await read).toEqual(objects.get('0')?.subarray(150, 250));
      expect(source.metrics().operations.readInto?.bytes).toBe(300);
      await hierarchy.close();
    },
  );

  it('[R2] a tier that cannot give back what it took fails no read', async () => {
    const objects = objectsOf([300]);
    const source = new HoldingDriver(await memoryWith(objects), { operations: ['readInto'] });
    const broken = new HoldingDriver(new MemoryDriver(), { operations: ['readInto'] });
    const hierarchy = await startHierarchy(source, [{ driver: broken, quota: 1000 }], {
      chunk: 100,
      concurrency: 1,
    });
    const first = hierarchy.read('0', { length: 100 });
    await settled();
    await source.release();
    await first;
    await settled();
    const again = hierarchy.read('0', { offset: 10, length: 20 });
    await settled();
    await broken.release({ error: new Error('broken') });
    await source.releaseAll();
    expect(await again).toEqual(objects.get('0')?.subarray(10, 30));
    await hierarchy.idle();
    await hierarchy.close();
  });

  it.each(['create', 'writeAt', 'publish'] as const)(
    '[R2] a tier that fails in %s fails no read, also of who waited for memory meanwhile',
    async (operation) => {
      const objects = objectsOf([300]);
      const tier = new FaultDriver(new MemoryDriver(), {
        rules: [{ operations: [operation], fault: { kind: 'fail' } }],
      });
      const hierarchy = await startHierarchy(
        await memoryWith(objects),
        [{ driver: tier, quota: 1000 }],
        // Room for one chunk: whoever wants the next one waits until the tier has that.
        { chunk: 100, memory: 100, concurrency: 1 },
      );
      expect(await hierarchy.read('0')).toEqual(objects.get('0'));
      expect(tier.injected).toHaveLength(1);
      await hierarchy.close();
    },
  );

  it('a reader who waits for memory for one chunk is not failed by another chunk', async () => {
    const objects = objectsOf([300]);
    const source = new FaultDriver(await memoryWith(objects), {
      rules: [{ operations: ['readInto'], nth: 1, fault: { kind: 'fail' } }],
    });
    const options = { chunk: 100, memory: 100, concurrency: 1 };
    const hierarchy = await startHierarchy(source, [TIER()], options);
    const ends = [0, 100].map((offset) => outcomeOf(hierarchy.read('0', { offset, length: 100 })));
    await hierarchy.idle();
    await settled();
    expect(ends[0]?.error).toMatchObject({ operation: 'readInto' });
    expect(ends[1]).toEqual({ value: objects.get('0')?.subarray(100, 200) });
    await hierarchy.close();
  });

  it('a reader of one chunk is not failed by another chunk', async () => {
    const objects = objectsOf([300]);
    const source = new HoldingDriver(await memoryWith(objects), { operations: ['readInto'] });
    const hierarchy = await startHierarchy(source, [TIER()], { chunk: 100, concurrency: 1 });
    const reads = [0, 100, 200].map((offset) => hierarchy.read('0', { offset, length: 100 }));
    const ends = reads.map((read) => outcomeOf(read));
    await settled();
    await source.release({ index: 1, error: new Error('lost') });
    await source.releaseAll();
    expect(ends.map(({ value }) => value?.byteLength)).toEqual([100, undefined, 100]);
    expect(ends[1]?.error).toMatchObject({ message: 'lost' });
    await hierarchy.idle();
    expect(hierarchy.stats().placement).toMatchObject({ failed: 1, placed: 0 });
    await hierarchy.close();
  });
});

describe('ChunkSize', () => {
  const MIB = 2 ** 20;

  function after(msARequest: (bytes: number) => number, requests = 200): number {
    const size = new ChunkSize(undefined, 256 * MIB);
    for (let i = 0; i < requests; i++) size.observe(size.bytes, msARequest(size.bytes));
    return size.bytes;
  }

  it('stays where requests take 20 to 200 ms, and moves there within its bounds', () => {
    expect(after((bytes) => 1 + bytes / 150e3)).toBe(4 * MIB);
    expect(after((bytes) => bytes / 2e6)).toBe(16 * MIB);
    expect(after((bytes) => bytes / 10e3)).toBe(MIB);
    expect(after((bytes) => bytes / 400e3)).toBe(8 * MIB);
  });

  it('learns nothing from a few requests, and nothing from small ones', () => {
    expect(after(() => 1, 7)).toBe(4 * MIB);
    const size = new ChunkSize(undefined, 256 * MIB);
    for (let i = 0; i < 100; i++) size.observe(1000, 1);
    expect(size.bytes).toBe(4 * MIB);
  });

  it('stays at what it was told, and within the memory', () => {
    const fixed = new ChunkSize('2MiB', 256 * MIB);
    for (let i = 0; i < 100; i++) fixed.observe(2 * MIB, 1);
    expect(fixed.bytes).toBe(2 * MIB);
    expect(new ChunkSize(undefined, 2 * MIB).bytes).toBe(2 * MIB);
    expect(() => new ChunkSize('3MiB', 2 * MIB)).toThrow(
      expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }),
    );
  });

  it('takes small objects whole, and of very large ones so much that their chunks can be counted', () => {
    const size = new ChunkSize('4MiB', 256 * MIB);
    expect(size.ofObject(0)).toBe(1);
    expect(size.ofObject(1000)).toBe(1000);
    expect(size.ofObject(5 * MIB)).toBe(4 * MIB);
    expect(Math.ceil(2 ** 40 / (size.ofObject(2 ** 40) ?? 1))).toBe(65_536);
    expect(size.ofObject(Number.MAX_SAFE_INTEGER)).toBeUndefined();
  });
});

describe('SourceGate', () => {
  /** A request that ends when it is told to. */
  function request(gate: SourceGate, kind: 'foreground' | 'background') {
    const state: { running: boolean; end: () => void; promote: () => void } = {
      running: false,
      end: () => undefined,
      promote: () => undefined,
    };
    const work = (ticket?: { promote: () => void }) =>
      new Promise<void>((resolve) => {
        state.running = true;
        state.end = resolve;
        state.promote = () => ticket?.promote();
      });
    void (kind === 'foreground' ? gate.foreground(() => work()) : gate.background(work));
    return state;
  }

  it('a request that somebody comes to wait for makes room for another in the background', async () => {
    const gate = new SourceGate(3);
    const background = Array.from({ length: 6 }, () => request(gate, 'background'));
    await settled();
    const running = () => background.filter((one) => one.running).length;
    expect(running()).toBe(3);
    background[0]?.promote();
    background[0]?.promote();
    await settled();
    // One is waited for: beside it one is enough, and two are under way.
    expect(running()).toBe(3);
    background[1]?.end();
    background[2]?.end();
    await settled();
    expect(running()).toBe(4);
    background[0]?.end();
    await settled();
    background[0]?.promote();
    await settled();
    expect(running()).toBe(6);
  });
});
