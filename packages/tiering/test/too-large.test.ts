import { Hierarchy, MemoryDriver } from '@tiered/core';
import { BaseDriver } from '@tiered/core/driver';
import { memoryFor } from '@tiered/core/internal';
import { PlacementHandler } from '@tiered/tiering';
import { expect, it } from 'vitest';
import { memoryWith, objectsOf, startHierarchy } from './helpers.js';

/** More than any buffer holds, on any version of Node. */
const BYTES = Number.MAX_SAFE_INTEGER;
const tooLarge = expect.objectContaining({ code: 'TIERED_TOO_LARGE', key: 'huge', retryable: false });

/** A source of one object that no memory holds. */
class Huge extends BaseDriver {
  constructor() {
    super({ name: 'huge' });
  }

  protected override async statObject(key: string) {
    return { key, size: BYTES, version: '1' };
  }

  protected override async readRange(key: string, { length }: { length: number }) {
    return memoryFor(length, key);
  }
}

it.each([0, 1000])(
  '[E1] a read of more than there is memory for is TIERED_TOO_LARGE, with a tier of %i bytes',
  async (quota) => {
    await using hierarchy = await new Hierarchy({
      source: new Huge(),
      tiers: [{ driver: new MemoryDriver(), quota }],
      placement: new PlacementHandler({ chunk: 1000, memory: 1000 }),
      scan: false,
    }).open();
    await expect(hierarchy.read('huge')).rejects.toEqual(tooLarge);
    expect(await hierarchy.read('huge', { offset: 7, length: 3 })).toHaveLength(3);
  },
);

it('[E1] [R2] it is so without a tier, and no fault of a tier that has a copy', async () => {
  await using plain = await new Hierarchy({ source: new Huge(), scan: false }).open();
  await expect(plain.read('huge')).rejects.toEqual(tooLarge);

  const tier = new (class extends MemoryDriver {
    override async read(key: string): Promise<Uint8Array> {
      return memoryFor(BYTES, key);
    }
  })();
  await using hierarchy = await startHierarchy(await memoryWith(objectsOf([100])), [
    { driver: tier, quota: 1000 },
  ]);
  await hierarchy.place('0');
  expect(await hierarchy.read('0')).toEqual(objectsOf([100]).get('0'));
  expect(hierarchy.stats().tiers[0]).toMatchObject({ faults: 0, readable: true });
});
