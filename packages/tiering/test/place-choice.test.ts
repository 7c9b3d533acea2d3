import { Hierarchy, MemoryDriver, type FetchModel } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { FaultDriver, assertNothingHeld, HoldingDriver } from '@tiered/core/testing';
import { PlacementHandler } from '@tiered/tiering';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf } from './helpers.js';

const OBJECTS = objectsOf([100]);
const BYTES = OBJECTS.get('0') ?? new Uint8Array(0);
const SOURCE = 1;

/** A hierarchy with one tier that holds the object, and this model. */
async function placed(model: FetchModel, source = new MetricsDriver(new MemoryDriver())) {
  await source.write('0', BYTES, { size: BYTES.byteLength });
  const tier = new HoldingDriver(new MemoryDriver(), { operations: ['read'] });
  const hierarchy = await new Hierarchy({
    source,
    tiers: [{ driver: tier, quota: 1000 }],
    placement: new PlacementHandler({ chunk: 10 }),
    model,
  }).open();
  await hierarchy.place('0');
  return { hierarchy, tier, source };
}

describe('a hierarchy with a model of its places', () => {
  it('[R1] [R4] reads from the place that is faster, and the bytes are the same', async () => {
    const faster = { level: 0 };
    const { hierarchy } = await placed({ fetchMs: (level) => (level === faster.level ? 1 : 2) });
    const target = new Uint8Array(BYTES.byteLength);
    for (const [level, reads] of [
      [SOURCE, 0],
      [0, 1],
      [SOURCE, 1],
    ] as const) {
      faster.level = level;
      expect(await hierarchy.readInto('0', target.fill(0))).toBe(BYTES.byteLength);
      expect(target).toEqual(BYTES);
      expect(hierarchy.stats().tiers[0]).toMatchObject({ reads });
    }
    faster.level = SOURCE;
    expect(await hierarchy.read('0')).toEqual(BYTES);
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
  });

  it('sends reads to the source that would queue at the tier', async () => {
    const { hierarchy, tier } = await placed({
      fetchMs: (level, bytes, underWay) => (level === SOURCE ? 2.5 : underWay) * bytes,
    });
    const reads = [hierarchy.read('0'), hierarchy.read('0'), hierarchy.read('0')];
    expect(await reads[2], 'the third, which need not wait').toEqual(BYTES);
    expect(tier.held).toHaveLength(2);
    await tier.release();
    await tier.release();
    expect(await Promise.all(reads)).toEqual([BYTES, BYTES, BYTES]);
    const again = hierarchy.read('0');
    await tier.release();
    expect(await again).toEqual(BYTES);
    expect(hierarchy.stats().tiers[0]).toMatchObject({ reads: 3 });
    await hierarchy.close();
  });

  it('[R2] [R4] reads the copy where the source, though faster, fails', async () => {
    const faults = new FaultDriver(new MemoryDriver(), {
      // Placing takes ten.
      rules: [{ operations: ['read', 'readInto'], nth: 11, fault: { kind: 'fail' } }],
    });
    const { hierarchy, source } = await placed({ fetchMs: (level) => 1 - level }, new MetricsDriver(faults));
    const target = new Uint8Array(BYTES.byteLength);
    expect(await hierarchy.readInto('0', target)).toBe(BYTES.byteLength);
    expect(target).toEqual(BYTES);
    expect(hierarchy.stats().tiers[0]).toMatchObject({ reads: 1 });
    expect(source.metrics().operations.readInto).toMatchObject({ count: 11, errors: 1 });
    await hierarchy.close();
  });

  it('takes the copy where the model says nothing that can be compared', async () => {
    for (const nothing of [Number.NaN, -1, Infinity]) {
      const { hierarchy } = await placed({ fetchMs: () => nothing });
      await hierarchy.readInto('0', new Uint8Array(BYTES.byteLength));
      expect(hierarchy.stats().tiers[0]).toMatchObject({ reads: 1 });
      await hierarchy.close();
    }
  });

  it('that is no model is TIERED_CONFIG_INVALID', async () => {
    const source = await memoryWith(OBJECTS);
    for (const model of [null, {}, { fetchMs: 1 }, 'fast'])
      expect(() => new Hierarchy({ source, model: model as never })).toThrow(
        expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }),
      );
  });
});
