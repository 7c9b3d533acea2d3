import { Hierarchy, MemoryDriver, TieredError } from '@tiered/core';
import { ThrottleDriver } from '@tiered/core/decorators';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { ManualClock, someBytes } from '@tiered/core/testing';
import { PlacementHandler } from '@tiered/tiering';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { memoryWith } from './helpers.js';

const MIB = 2 ** 20;
/** Bytes and milliseconds that the link takes for them, and tells of: 256 KiB in a quarter of a second. */
const STEP = MIB / 4;
const STEP_MS = 250;

/** One object behind a link of 1 MiB a second, placed in one chunk. */
async function place(bytes: Uint8Array, around = (driver: ThrottleDriver) => driver as InterceptingDriver) {
  const clock = new ManualClock();
  const link = new ThrottleDriver(await memoryWith(new Map([['object', bytes]])), {
    bytesPerSecond: MIB,
    clock,
  });
  const tier = { driver: new MemoryDriver(), quota: 16 * MIB };
  const placement = new PlacementHandler({ chunk: 16 * MIB });
  return {
    clock,
    hierarchy: await new Hierarchy({ source: around(link), tiers: [tier], placement, clock }).open(),
  };
}

/** Breaks each first read of an object in the middle, when a part of it has been told. */
class Breaking extends InterceptingDriver {
  broken = 0;

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    if (call.operation !== 'readInto' || this.broken > 0) return call.proceed();
    this.broken += 1;
    const end = new AbortController();
    const error = new TieredError('TIERED_UNAVAILABLE', 'The connection broke.', { retryable: true });
    return call.proceed(end.signal, (bytes) => {
      call.progress?.(bytes);
      end.abort(error);
    });
  }
}

it('[F3] a read has its bytes as soon as the source has given them, however long their chunk takes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(4 * MIB - 1), fc.integer({ min: 1, max: MIB })), {
        minLength: 1,
        maxLength: 6,
      }),
      fc.boolean(),
      async (ranges, isInto) => {
        const bytes = someBytes(4 * MIB, 1);
        const { clock, hierarchy } = await place(bytes);
        const reads = ranges.map(async ([offset, length]) => {
          const target = new Uint8Array(length);
          const got = isInto
            ? target.subarray(0, await hierarchy.readInto('object', target, { offset }))
            : await hierarchy.read('object', { offset, length });
          const end = Math.min(offset + length, bytes.byteLength);
          expect(Buffer.compare(got, bytes.subarray(offset, end))).toBe(0);
          expect(clock.now()).toBeCloseTo(Math.ceil(end / STEP) * STEP_MS, 3);
        });
        await clock.run(Promise.all(reads));
        await clock.run(hierarchy.idle());
        expect(hierarchy.stats().source.reads).toBe(1);
        await hierarchy.close();
      },
    ),
    { numRuns: 30 },
  );
});

it('[F3] [R2] what came before the source failed is right, and is not taken back', async () => {
  const bytes = someBytes(2 * MIB, 2);
  const { clock, hierarchy } = await place(bytes, (link) => new Breaking(link));
  const early = hierarchy.read('object', { offset: 10, length: 1000 });
  const late = hierarchy.read('object', { offset: MIB, length: 1000 });
  const failed = expect(late).rejects.toMatchObject({ code: 'TIERED_UNAVAILABLE' });
  expect(Buffer.compare(await clock.run(early), bytes.subarray(10, 1010))).toBe(0);
  expect(clock.now()).toBeCloseTo(STEP_MS, 3);
  await clock.run(failed);
  expect(Buffer.compare(await clock.run(hierarchy.read('object')), bytes)).toBe(0);
  await hierarchy.close();
});

it('[F3] a reader that has left is not written to by what comes later', async () => {
  const { clock, hierarchy } = await place(someBytes(2 * MIB, 3));
  const reason = new Error('no longer wanted');
  const controller = new AbortController();
  const target = new Uint8Array(MIB);
  const reading = hierarchy.readInto('object', target, { offset: MIB / 2, signal: controller.signal });
  const left = expect(reading).rejects.toBe(reason);
  await clock.advance(2 * STEP_MS);
  controller.abort(reason);
  await left;
  await clock.run(hierarchy.idle());
  expect(target.every((byte) => byte === 0)).toBe(true);
  await hierarchy.close();
});
