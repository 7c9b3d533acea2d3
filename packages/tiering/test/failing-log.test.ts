import {
  Hierarchy,
  InterceptingDriver,
  MemoryDriver,
  Random,
  TieredError,
  type DriverCall,
  type OperationOptions,
  type SharedLog,
  type StorageDriver,
} from '@tiered/core';
import { assertNothingHeld, ManualClock } from '@tiered/core/testing';
import { PlacementHandler } from '@tiered/tiering';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { memoryWith, objectsOf } from './helpers.js';

/** A driver whose log fails as the disk under it does: now and then, before or after it did what it was asked for. */
class FailingLogDriver extends InterceptingDriver {
  /** How likely a call of the log is to fail. */
  probability = 0;
  readonly #random: Random;

  constructor(inner: StorageDriver, seed: number) {
    super(inner);
    this.#random = new Random(seed);
  }

  override async openLog(options: OperationOptions): Promise<SharedLog> {
    const log = await super.openLog(options);
    const fail = () => {
      if (this.#random.unit() < this.probability) throw new TieredError('TIERED_IO', 'the disk failed');
    };
    return {
      member: log.member,
      get current() {
        fail();
        return log.current;
      },
      append: (lines) => {
        fail();
        log.append(lines);
        fail();
      },
      readNew: () => {
        fail();
        return log.readNew();
      },
      isAlive: (member) => log.isAlive(member),
      replace: (lines) => log.replace(lines),
      close: () => log.close(),
    };
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }
}

it('[R2] [Q1] a log that fails now and then fails no read, and no quota', async () => {
  const sizes = [250, 100, 0, 1, 330, 99, 100, 101];
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.constantFrom(0.02, 0.2, 1), async (seed, probability) => {
      const objects = objectsOf(sizes);
      const source = await memoryWith(objects);
      const tier = new MemoryDriver({ log: true });
      const clock = new ManualClock();
      const drivers = [new FailingLogDriver(tier, seed), new FailingLogDriver(tier, seed + 1)];
      const live = async (driver: StorageDriver) => {
        const placement = new PlacementHandler({ chunk: 100 });
        return new Hierarchy({ source, tiers: [{ driver, quota: 500 }], placement, clock }).start();
      };
      const both = await Promise.all(drivers.map(live));
      const random = new Random(seed);
      for (let round = 0; round < 6; round++) {
        for (const driver of drivers) driver.probability = round % 2 === 0 ? probability : 0;
        for (const hierarchy of both) {
          for (const i of random.permutation(sizes.length)) {
            expect(await hierarchy.read(String(i))).toEqual(objects.get(String(i)));
            if (random.below(3) === 0) await hierarchy.idle();
          }
        }
        expect((await tier.usage({})).bytes).toBeLessThanOrEqual(500);
        await clock.advance(100_000);
      }
      for (const driver of drivers) driver.probability = 0;
      for (const hierarchy of both)
        for (const [key, bytes] of objects) expect(await hierarchy.read(key)).toEqual(bytes);
      for (const hierarchy of both) {
        await hierarchy.idle();
        assertNothingHeld(hierarchy.stats());
      }
      for (const hierarchy of both) await hierarchy.close();
      const next = await live(tier);
      expect((await tier.usage({})).bytes).toBe(next.stats().tiers[0]?.usedBytes);
      expect(next.stats().tiers[0]?.reservedBytes).toBe(0);
      for (const [key, bytes] of objects) expect(await next.read(key)).toEqual(bytes);
      await next.close();
      assertNothingHeld(next.stats());
    }),
    { numRuns: 60 },
  );
});
