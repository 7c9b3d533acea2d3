import { Hierarchy, isTieredError, MemoryDriver, type StorageDriver } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { assertNothingHeld, someBytes } from '@tiered/core/testing';
import { firstFit, lru, PlacementHandler, promoting } from '@tiered/tiering';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf } from './helpers.js';

/** Lets fast-check decide in which order calls that are under way go on. */
class ScheduledDriver extends InterceptingDriver {
  readonly #scheduler: fc.Scheduler;

  constructor(inner: StorageDriver, scheduler: fc.Scheduler) {
    super(inner);
    this.#scheduler = scheduler;
  }

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    if (call.operation === 'open' || call.operation === 'list' || call.operation === 'openIndex') {
      return call.proceed();
    }
    await this.#scheduler.schedule(Promise.resolve(), `${call.operation} ${call.key}`);
    return call.proceed();
  }
}

const key = fc.constantFrom('0', '1', '2', '3');
const command = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      key,
      offset: fc.nat(300),
      length: fc.nat(400),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('into' as const),
      key,
      offset: fc.nat(300),
      length: fc.nat(400),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('place' as const), key }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('abort' as const),
      key,
      offset: fc.nat(300),
      length: fc.nat(400),
    }),
  },
);
const change = fc.record({
  kind: fc.constant('change' as const),
  key,
  size: fc.integer({ min: 1, max: 300 }),
  seed: fc.nat(1000),
});

const setting = fc.record({
  quotas: fc.array(fc.integer({ min: 50, max: 700 }), { minLength: 1, maxLength: 3 }),
  chunk: fc.integer({ min: 10, max: 50 }),
  memory: fc.constantFrom(50, 200, 100_000),
  concurrency: fc.integer({ min: 1, max: 4 }),
  policy: fc.constantFrom(firstFit, lru, promoting(firstFit)),
});

const SIZES = [300, 120, 1, 0];

async function world(
  options: { quotas: readonly number[]; chunk: number; memory: number },
  scheduler: fc.Scheduler,
) {
  const { quotas, ...handler } = options;
  const objects = objectsOf(SIZES);
  const storage = await memoryWith(objects);
  const source = new MetricsDriver(new ScheduledDriver(storage, scheduler));
  const drivers = quotas.map(() => new MemoryDriver());
  const hierarchy = new Hierarchy({
    source,
    tiers: drivers.map((driver, i) => ({
      driver: new ScheduledDriver(driver, scheduler),
      quota: quotas[i] ?? 0,
    })),
    placement: new PlacementHandler(handler),
  });
  return { objects, storage, source, drivers, hierarchy: await hierarchy.open() };
}

/**
 * What a tier holds is what its ledger says, within the quota, and every copy is the beginning of its object.
 */
async function assertTiers(
  hierarchy: Hierarchy,
  drivers: readonly MemoryDriver[],
  quotas: readonly number[],
  valid: (key: string) => readonly Uint8Array[],
) {
  const seen = new Set<string>();
  for (const [level, driver] of drivers.entries()) {
    const { bytes } = await driver.usage({});
    expect(bytes).toBe(hierarchy.stats().tiers[level]?.usedBytes);
    expect(bytes).toBeLessThanOrEqual(quotas[level] ?? 0);
    for await (const page of driver.list({})) {
      for (const { key: name, size } of page) {
        const [of = ''] = name.split('@');
        expect(seen.has(of)).toBe(false);
        seen.add(of);
        const copy = await driver.read(name, { offset: 0, length: size });
        expect(valid(of).some((bytes) => Buffer.compare(bytes.subarray(0, size), copy) === 0)).toBe(true);
      }
    }
  }
}

describe('a hierarchy under any interleaving', () => {
  it('[R1] [F1] [Q1] gives the bytes of the source, asks for each once, and accounts for every byte on a tier', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        setting,
        fc.array(command, { maxLength: 30 }),
        async (scheduler, options, commands) => {
          const { objects, source, drivers, hierarchy } = await world(options, scheduler);
          const ends = commands.map(async (one) => {
            const bytes = objects.get(one.key) ?? new Uint8Array();
            if (one.kind === 'place') {
              await hierarchy.place(one.key);
              return;
            }
            const expected = bytes.subarray(one.offset, one.offset + one.length);
            const range = { offset: one.offset, length: one.length };
            if (one.kind === 'abort' && expected.byteLength > 0) {
              const controller = new AbortController();
              const read = hierarchy.read(one.key, { ...range, signal: controller.signal });
              controller.abort(new Error('enough'));
              await expect(read).rejects.toThrow('enough');
              return;
            }
            if (one.kind === 'read') {
              expect(await hierarchy.read(one.key, range)).toEqual(expected);
              return;
            }
            const target = new Uint8Array(one.length);
            const count = await hierarchy.readInto(one.key, target, { offset: one.offset });
            expect(target.subarray(0, count)).toEqual(expected);
          });
          await scheduler.waitFor(Promise.all(ends));
          await scheduler.waitFor(hierarchy.idle());
          await assertTiers(hierarchy, drivers, options.quotas, (k) => [objects.get(k) ?? new Uint8Array()]);
          const total = SIZES.reduce((sum, size) => sum + size, 0);
          const roomForAll = options.quotas.some((quota) => quota >= total) && options.memory > 1000;
          const { bytes = 0 } = source.metrics().operations.readInto ?? {};
          if (roomForAll) expect(bytes).toBeLessThanOrEqual(total);
          expect(hierarchy.stats().source.readBytes).toBe(bytes);
          await scheduler.waitFor(hierarchy.close());
          assertNothingHeld(hierarchy.stats());
        },
      ),
      { numRuns: 150 },
    );
  });

  it('[R1] [A1] while objects change, a read gives one of its versions, never a mixture', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        setting,
        fc.array(fc.oneof({ weight: 3, arbitrary: command }, { weight: 1, arbitrary: change }), {
          maxLength: 25,
        }),
        async (scheduler, options, commands) => {
          const { objects, storage, drivers, hierarchy } = await world(options, scheduler);
          const versions = new Map([...objects].map(([k, bytes]) => [k, [bytes]]));
          const of = (k: string) => versions.get(k) ?? [];
          const ends = commands.map(async (one) => {
            if (one.kind === 'change') {
              await scheduler.schedule(Promise.resolve(), `change ${one.key}`);
              const bytes = someBytes(one.size, one.seed + 1000);
              of(one.key).push(bytes);
              await storage.write(one.key, bytes, { size: one.size });
            } else if (one.kind === 'read') {
              const { offset, length } = one;
              const read = hierarchy.read(one.key, { offset, length }).catch((error: unknown) => error);
              const got = await read;
              // One that meets another version at each of its tries may give up.
              if (isTieredError(got, 'TIERED_SOURCE_CHANGED')) return;
              // Copies of what the source does not show any more may be served until it is looked at.
              const fits = (bytes: Uint8Array) =>
                Buffer.compare(bytes.subarray(offset, offset + length), got as Uint8Array) === 0;
              expect(of(one.key).some(fits)).toBe(true);
            }
          });
          await scheduler.waitFor(Promise.all(ends));
          await scheduler.waitFor(hierarchy.idle());
          await assertTiers(hierarchy, drivers, options.quotas, of);
          await scheduler.waitFor(hierarchy.close());
          assertNothingHeld(hierarchy.stats());
        },
      ),
      { numRuns: 100 },
    );
  });
});
