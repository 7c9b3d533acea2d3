import { Hierarchy, MemoryDriver, TieredError, type StorageDriver } from '@tiered/core';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { PlacementHandler } from '@tiered/tiering';
import fc from 'fast-check';
import { expect, it } from 'vitest';

const [OLD, NEW, BEFORE] = [0x11, 0x22, 0xee];
const MOST = 3000;

const TEARS = ['fails behind all', 'is short behind all', 'is missing', 'works'] as const;
const WAYS = ['readInto', 'readMany', 'handle'] as const;

/** A tier that writes to the target what it has, and then says what it likes. */
class Torn extends InterceptingDriver {
  tear: (typeof TEARS)[number] = 'works';

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    const result = await call.proceed();
    if (call.operation !== 'readInto' || call.target === undefined) return result;
    if (this.tear === 'fails behind all') throw new TieredError('TIERED_IO', 'torn');
    if (this.tear === 'is missing') throw new TieredError('TIERED_NOT_FOUND', 'gone');
    return this.tear === 'is short behind all' ? ((call.target.byteLength >> 1) as T) : result;
  }
}

const put = (driver: StorageDriver, size: number, byte: number) =>
  driver.write('a', new Uint8Array(size).fill(byte), { size });

it('[R1] whatever a tier wrote before it failed, nothing of it is left behind what is reported', async () => {
  const sizes = fc.record({
    old: fc.integer({ min: 1, max: 2000 }),
    now: fc.nat(2000),
    quota: fc.constantFrom(500, 5000),
  });
  const read = fc.record({ offset: fc.nat(1000), length: fc.nat(MOST) });
  await fc.assert(
    fc.asyncProperty(
      sizes,
      read,
      fc.constantFrom(...TEARS),
      fc.constantFrom(...WAYS),
      async ({ old, now, quota }, { offset, length }, tear, way) => {
        const source = new MemoryDriver();
        await put(source, old, OLD);
        const driver = new Torn(new MemoryDriver());
        const placement = new PlacementHandler({ chunk: 250 });
        await using hierarchy = new Hierarchy({ source, tiers: [{ driver, quota }], placement });
        await hierarchy.open();
        await hierarchy.place('a');
        const handle = await hierarchy.handle('a');
        await put(source, now, NEW);
        driver.tear = tear;

        const target = new Uint8Array(MOST).fill(BEFORE);
        const range = target.subarray(0, length);
        const count = await {
          readInto: () => hierarchy.readInto('a', range, { offset }),
          readMany: async () => {
            const [outcome] = await hierarchy.readMany([{ key: 'a', target: range, offset }]);
            return outcome !== undefined && 'bytes' in outcome ? outcome.bytes : -1;
          },
          handle: () => handle.readInto(range, { offset }),
        }[way]();

        const isOld = target[0] === OLD;
        const given = target.subarray(0, count);
        expect(given.every((byte) => byte === (isOld ? OLD : NEW))).toBe(true);
        if (!isOld && count > 0) expect(count).toBe(Math.min(length, Math.max(0, now - offset)));
        // Zeros where a tier wrote; and nothing was touched where the object never was.
        const known = Math.max(count, Math.min(length, Math.max(0, old - offset)));
        expect(target.subarray(count, known).every((byte) => byte === BEFORE || byte === 0)).toBe(true);
        expect(target.subarray(known).every((byte) => byte === BEFORE)).toBe(true);
      },
    ),
    { numRuns: 400 },
  );
});
