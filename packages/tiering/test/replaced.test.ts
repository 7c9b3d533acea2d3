import { HoldingDriver, IndexedMemoryDriver, outcomeOf, settled, someBytes } from '@tiered/core/testing';
import { MemoryDriver } from '@tiered/core';
import type { PlacementPolicy } from '@tiered/tiering';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf, startHierarchy } from './helpers.js';

describe('a copy that is replaced while it is read', () => {
  it('a copy that moves up is read under its own name', async () => {
    const source = await memoryWith(objectsOf([20]));
    let up = false;
    const policy: PlacementPolicy = {
      name: 'x',
      place: () => 1,
      promote: () => (up ? 0 : undefined),
    };
    const hierarchy = await startHierarchy(
      source,
      [
        { driver: new MemoryDriver(), quota: 1000 },
        { driver: new MemoryDriver(), quota: 1000 },
      ],
      { policy },
    );
    await hierarchy.place('0');
    const fresh = someBytes(20, 9);
    await source.write('0', fresh, { size: 20 });
    await hierarchy.rescan();
    await hierarchy.idle();
    expect(await hierarchy.place('0')).toBe(1);
    up = true;
    expect(await hierarchy.read('0')).toEqual(fresh);
    await hierarchy.idle();
    expect((await hierarchy.stat('0')).level).toBe(0);
    const reads = hierarchy.stats().tiers[0]?.reads;
    expect(await hierarchy.read('0')).toEqual(fresh);
    expect(hierarchy.stats().tiers.map(({ faults }) => faults)).toEqual([0, 0]);
    expect(hierarchy.stats().tiers[0]?.reads).toBe((reads ?? 0) + 1);
    await hierarchy.close();
  });

  it.each(['read', 'readInto', 'readMany'] as const)(
    '[R1] [V2] an object that is listed anew while a look at the index is under way is given whole (%s)',
    async (how) => {
      const source = await memoryWith(objectsOf([20]));
      const tier = new IndexedMemoryDriver();
      // Because of it an index is asked whether it knows more.
      const other = await startHierarchy(await memoryWith(objectsOf([1])), [{ driver: tier, quota: 1000 }]);
      const hierarchy = await startHierarchy(source, [{ driver: tier, quota: 1000 }]);
      await hierarchy.idle();
      const grown = someBytes(40, 9);
      await source.write('0', grown, { size: 40 });
      const target = new Uint8Array(40);
      const read = {
        read: async () => hierarchy.read('0'),
        readInto: async () => target.subarray(0, await hierarchy.readInto('0', target)),
        readMany: async () => {
          const [outcome] = await hierarchy.readMany([{ key: '0', target }]);
          return target.subarray(0, outcome !== undefined && 'bytes' in outcome ? outcome.bytes : 0);
        },
      }[how]();
      await hierarchy.rescan();
      expect(Buffer.compare(await read, grown)).toBe(0);
      await hierarchy.close();
      await other.close();
    },
  );

  it('[R1] a read of a whole object that grows while its copy is deleted gives one version, whole', async () => {
    const objects = objectsOf([20]);
    const source = await memoryWith(objects);
    const tier = new HoldingDriver(new MemoryDriver(), { operations: ['read'] });
    const hierarchy = await startHierarchy(source, [{ driver: tier, quota: 1000 }]);
    await hierarchy.place('0');
    const read = hierarchy.read('0');
    await settled();
    expect(tier.held.length).toBe(1);
    const grown = someBytes(40, 9);
    await source.write('0', grown, { size: 40 });
    await hierarchy.rescan();
    await hierarchy.idle();
    await tier.releaseAll();
    const bytes = await read;
    expect([20, 40]).toContain(bytes.byteLength);
    expect(bytes).toEqual(bytes.byteLength === 40 ? grown : objects.get('0'));
    await hierarchy.close();
  });
  it('[R2] a late read of a copy that went does not cost the new one', async () => {
    const source = await memoryWith(objectsOf([20]));
    const tier = new HoldingDriver(new MemoryDriver(), { operations: ['read'] });
    const hierarchy = await startHierarchy(source, [{ driver: tier, quota: 1000 }]);
    await hierarchy.place('0');
    const read = hierarchy.read('0');
    await settled();
    const fresh = someBytes(20, 9);
    await source.write('0', fresh, { size: 20 });
    await hierarchy.rescan();
    await hierarchy.idle();
    expect(await hierarchy.place('0')).toBe(0);
    await tier.releaseAll();
    expect(await read).toEqual(fresh);
    expect((await hierarchy.stat('0')).level).toBe(0);
    expect(hierarchy.stats().tiers[0]?.faults).toBe(0);
    await hierarchy.close();
  });
});

describe('reads of what is not placed', () => {
  /** A source whose requests wait, and a hierarchy that has no room for its object. */
  async function held() {
    const objects = objectsOf([100, 100]);
    const inner = await memoryWith(objects);
    const source = new HoldingDriver(inner, { operations: ['readInto'] });
    const hierarchy = await startHierarchy(source, [{ driver: new MemoryDriver(), quota: 100 }], {
      chunk: 100,
    });
    const placed = hierarchy.place('0');
    await source.releaseAll();
    expect(await placed).toBe(0);
    return { inner, source, hierarchy, bytes: objects.get('1') ?? new Uint8Array() };
  }

  it('[B1] memory of a reader that joined and was aborted is not touched when the bytes come', async () => {
    const { source, hierarchy, bytes } = await held();
    const first = hierarchy.read('1');
    await settled();
    const target = new Uint8Array(50).fill(7);
    const controller = new AbortController();
    const joined = hierarchy.readInto('1', target, { offset: 10, signal: controller.signal });
    await settled();
    expect(source.held.length).toBe(1);
    controller.abort(new Error('enough'));
    await expect(joined).rejects.toThrow('enough');
    await source.releaseAll();
    expect(await first).toEqual(bytes);
    expect(target.every((byte) => byte === 7)).toBe(true);
    await hierarchy.close();
  });

  it('[F1] readers with memory of their own share one request, and one asks anew if the one who began it leaves', async () => {
    const { source, hierarchy, bytes } = await held();
    const controller = new AbortController();
    const target = new Uint8Array(100);
    const owner = outcomeOf(hierarchy.readInto('1', target, { signal: controller.signal }));
    await settled();
    const part = new Uint8Array(30);
    const joined = hierarchy.readInto('1', part, { offset: 20 });
    await settled();
    expect(source.held.length).toBe(1);
    controller.abort(new Error('enough'));
    await source.releaseAll();
    expect(await joined).toBe(30);
    expect(part).toEqual(bytes.subarray(20, 50));
    expect(owner.error).toMatchObject({ message: 'enough' });
    const [one, two] = [new Uint8Array(100), new Uint8Array(100)];
    const both = Promise.all([hierarchy.readInto('1', one), hierarchy.readInto('1', two)]);
    await settled();
    expect(source.held.length).toBe(1);
    await source.releaseAll();
    await both;
    expect([one, two]).toEqual([bytes, bytes]);
    await hierarchy.close();
  });

  it('[V1] a read does not join a request for an older version', async () => {
    const { inner, source, hierarchy } = await held();
    const old = outcomeOf(hierarchy.read('1'));
    await settled();
    const fresh = someBytes(100, 99);
    await inner.write('1', fresh, { size: 100 });
    await hierarchy.rescan();
    const read = hierarchy.read('1');
    await settled();
    expect(source.held.length).toBe(2);
    await source.releaseAll();
    expect(await read).toEqual(fresh);
    expect(old.value).toEqual(fresh);
    await hierarchy.close();
  });
});
