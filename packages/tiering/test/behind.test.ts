import { Hierarchy, MemoryDriver, Random, type StorageDriver } from '@tiered/core';
import { MetricsDriver, ThrottleDriver } from '@tiered/core/decorators';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { assertNothingHeld, HoldingDriver, ManualClock, settled } from '@tiered/core/testing';
import { PlacementHandler, type PlacementHandlerOptions } from '@tiered/tiering';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf, readEpoch } from './helpers.js';

/** A hierarchy whose time is moved by the test. */
function startWith(
  clock: ManualClock,
  source: StorageDriver,
  tier: { readonly driver: StorageDriver; readonly quota: number },
  options: PlacementHandlerOptions,
): Promise<Hierarchy> {
  return new Hierarchy({ source, tiers: [tier], placement: new PlacementHandler(options), clock }).open();
}

/** Keeps the whole of what is written in memory until it is published, as stores behind a network do. */
class Buffering extends InterceptingDriver {
  override readonly capabilities = { ...this.inner.capabilities, buffersWrites: true };
  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }
}

/** Counts the copies that are being written at once. */
class Writing extends InterceptingDriver {
  most = 0;
  #now = 0;
  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    if (call.operation !== 'write') return call.proceed();
    this.most = Math.max(this.most, ++this.#now);
    const result = await call.proceed();
    this.#now -= 1;
    return result;
  }
}

describe('tiers that are slower than the source', () => {
  const training = fc.record({
    sizes: fc.array(fc.integer({ min: 1, max: 600 }), { minLength: 10, maxLength: 60 }),
    share: fc.constantFrom(0.56, 1),
    chunk: fc.integer({ min: 50, max: 300 }),
    memoryChunks: fc.integer({ min: 1, max: 6 }),
    piece: fc.integer({ min: 20, max: 700 }),
    readers: fc.integer({ min: 1, max: 40 }),
    buffers: fc.boolean(),
    seed: fc.nat(),
  });

  it('[F1] [F2] readers that wait for memory cost the source the optimum, within that memory, however many they are', async () => {
    await fc.assert(
      fc.asyncProperty(
        training,
        async ({ sizes, share, chunk, memoryChunks, piece, readers, buffers, seed }) => {
          const clock = new ManualClock();
          const objects = objectsOf(sizes);
          const source = new MetricsDriver(
            new ThrottleDriver(await memoryWith(objects), { bytesPerSecond: 10_000, clock }),
          );
          const slow = new ThrottleDriver(new MemoryDriver(), { bytesPerSecond: 1000, clock });
          const total = sizes.reduce((sum, size) => sum + size, 0);
          const quota = Math.max(chunk, Math.floor(total * share));
          const memory = buffers ? 1200 + chunk * memoryChunks : chunk * memoryChunks;
          const tier = { driver: buffers ? new Buffering(slow) : slow, quota };
          const hierarchy = await startWith(clock, source, tier, { chunk, memory });
          let most = 0;
          const look = async () => {
            for (let left = 2000; left > 0 && !ended; left--) {
              most = Math.max(most, hierarchy.stats().placement.fetchingBytes);
              await settled();
            }
          };
          let ended = false;
          const random = new Random(seed);
          const epochs = async () => {
            for (let e = 0; e < 3; e++) {
              await readEpoch(hierarchy, objects, { random, readers, piece });
              await hierarchy.idle();
            }
            ended = true;
          };
          await Promise.all([clock.run(epochs()), look()]);
          const optimum = 3 * total - 2 * Math.min(total, quota);
          const bytes = source.metrics().operations.readInto?.bytes ?? 0;
          expect(bytes).toBeGreaterThanOrEqual(optimum);
          expect(bytes).toBeLessThanOrEqual(optimum + 2 * chunk);
          expect(hierarchy.stats().placement).toMatchObject({ behind: 0, failed: 0 });
          if (share === 1) {
            expect(most).toBeLessThanOrEqual(memory);
            expect(hierarchy.stats().tiers[0]).toMatchObject({ usedBytes: total, reservedBytes: 0 });
          }
          await hierarchy.close();
          assertNothingHeld(hierarchy.stats());
          expect(clock.sleeping).toBe(0);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('[F1] [F3] readers that go on wait for no tier, and what was left behind is fetched once more, until all is placed', async () => {
    await fc.assert(
      fc.asyncProperty(training, async ({ sizes, chunk, memoryChunks, piece, readers, buffers, seed }) => {
        const clock = new ManualClock();
        const objects = objectsOf(sizes);
        const source = new MetricsDriver(await memoryWith(objects));
        const held = new HoldingDriver(new MemoryDriver(), { operations: ['writeAt', 'publish', 'write'] });
        const total = sizes.reduce((sum, size) => sum + size, 0);
        const memory = buffers ? 1200 + chunk * memoryChunks : chunk * memoryChunks;
        const tier = { driver: buffers ? new Buffering(held) : held, quota: total };
        const hierarchy = await startWith(clock, source, tier, { chunk, memory, whenBehind: 'goOn' });
        const random = new Random(seed);
        // Not a byte is written meanwhile.
        await readEpoch(hierarchy, objects, { random, readers, piece });
        expect(hierarchy.stats().tiers[0]?.usedBytes).toBe(0);
        let idle = false;
        const ended = hierarchy.idle().then(() => (idle = true));
        while (!idle) await held.releaseAll();
        await ended;
        await clock.advance(1000);
        while (hierarchy.stats().placement.fetching > 0) await held.releaseAll();
        await hierarchy.idle();
        expect(hierarchy.stats().tiers[0]).toMatchObject({ usedBytes: total, reservedBytes: 0 });
        expect(hierarchy.stats().placement).toMatchObject({ placed: sizes.length, declined: 0, failed: 0 });
        const brought = source.metrics().operations.readInto?.bytes ?? 0;
        expect(brought).toBeLessThanOrEqual(2 * total);
        await readEpoch(hierarchy, objects, { random, readers, piece });
        expect(source.metrics().operations.readInto?.bytes).toBe(brought);
        await hierarchy.close();
        assertNothingHeld(hierarchy.stats());
      }),
      { numRuns: 20 },
    );
  });

  it('[F1] a reader that comes to an object before the background does has it placed, and nothing is fetched twice', async () => {
    const clock = new ManualClock();
    const objects = objectsOf([100, 100, 100]);
    const source = new MetricsDriver(await memoryWith(objects));
    const tier = new HoldingDriver(new MemoryDriver(), { operations: ['write'] });
    const options = { chunk: 100, memory: 150, whenBehind: 'goOn', concurrency: 1 } as const;
    const hierarchy = await startWith(clock, source, { driver: tier, quota: 1000 }, options);
    for (const key of objects.keys()) await hierarchy.read(key);
    expect(hierarchy.stats().placement).toMatchObject({ behind: 2, declined: 0 });
    await tier.release();
    // The background is at 1.
    await hierarchy.read('1');
    expect(hierarchy.stats().source.readBytes).toBe(400);
    await tier.releaseAll();
    await hierarchy.idle();
    await tier.releaseAll();
    for (const key of objects.keys()) expect((await hierarchy.stat(key)).level).toBe(0);
    expect(hierarchy.stats().source.readBytes).toBe(500);
    await hierarchy.close();
  });

  it('[B1] [C1] who waits for memory ends with its signal, and with close', async () => {
    const clock = new ManualClock();
    const objects = objectsOf([100, 100, 100]);
    const tier = new HoldingDriver(new MemoryDriver(), { operations: ['write'] });
    const hierarchy = await startWith(
      clock,
      await memoryWith(objects),
      { driver: tier, quota: 1000 },
      { chunk: 100, memory: 100 },
    );
    await hierarchy.read('0');
    const abort = new AbortController();
    const aborted = hierarchy.read('1', { signal: abort.signal });
    const closed = hierarchy.readInto('2', new Uint8Array(100));
    await settled();
    expect(hierarchy.stats().source.readBytes).toBe(100);
    abort.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    const closing = hierarchy.close();
    await expect(closed).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
    await tier.releaseAll();
    await closing;
    expect(clock.sleeping).toBe(0);
    assertNothingHeld(hierarchy.stats());
  });

  it('[R2] a tier that does not move delays readers once, and is filled when it moves again', async () => {
    const clock = new ManualClock();
    const objects = objectsOf(Array.from({ length: 20 }, () => 100));
    const source = new MetricsDriver(await memoryWith(objects));
    const tier = new HoldingDriver(new MemoryDriver(), { operations: ['writeAt'] });
    const options = { chunk: 50, memory: 200 };
    const hierarchy = await startWith(clock, source, { driver: tier, quota: 10_000 }, options);
    const reads = ['0', '1', '2', '3', '4'].map((key) => hierarchy.read(key));
    await settled();
    expect(source.metrics().operations.readInto?.bytes).toBe(200);
    await clock.advance(10_000);
    expect(await Promise.all(reads)).toEqual(['0', '1', '2', '3', '4'].map((key) => objects.get(key)));
    // From here on nobody waits any more, and memory stays what it was.
    for (const [key, bytes] of objects) expect(await hierarchy.read(key)).toEqual(bytes);
    expect(hierarchy.stats().placement.fetchingBytes).toBe(200);
    expect(hierarchy.stats().placement.behind).toBeGreaterThan(0);
    await tier.releaseAll();
    await clock.advance(1000);
    await tier.releaseAll();
    await hierarchy.idle();
    expect(hierarchy.stats().tiers[0]).toMatchObject({ usedBytes: 2000, reservedBytes: 0 });
    await hierarchy.close();
    expect(clock.sleeping).toBe(0);
  });

  it('has no more files open than writes under way, however many objects wait to be written', async () => {
    const objects = objectsOf(Array.from({ length: 500 }, () => 100));
    const held = new HoldingDriver(new MemoryDriver(), { operations: ['write'] });
    const tier = new Writing(held);
    const options = { chunk: 100, concurrency: 3 };
    const source = await memoryWith(objects);
    const hierarchy = await startWith(new ManualClock(), source, { driver: tier, quota: 100_000 }, options);
    await Promise.all([...objects.keys()].map((key) => hierarchy.read(key)));
    expect(hierarchy.stats().placement).toMatchObject({ declined: 0, behind: 0, fetching: 500 });
    await held.releaseAll();
    await hierarchy.idle();
    expect(tier.most).toBe(3);
    expect(hierarchy.stats().tiers[0]?.usedBytes).toBe(50_000);
    await hierarchy.close();
  });

  it('a tier that buffers what is written takes no object that is larger than the memory', async () => {
    const objects = objectsOf([1000, 100]);
    const tier = { driver: new Buffering(new MemoryDriver()), quota: 10_000 };
    const options = { chunk: 100, memory: 300 };
    const hierarchy = await startWith(new ManualClock(), await memoryWith(objects), tier, options);
    expect(await hierarchy.place('0')).toBe(1);
    expect(await hierarchy.place('1')).toBe(0);
    expect(await hierarchy.read('0')).toEqual(objects.get('0'));
    await hierarchy.close();
  });
});
