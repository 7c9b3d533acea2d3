import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryDriver, type ByteSize } from '@tiered/core';
import { settled } from '@tiered/core/testing';
import { listed, onlyOnce, outcomeOf, pattern, readFrom, withCode } from './helpers.js';

const put = (driver: MemoryDriver, key: string, size: number) => driver.write(key, pattern(size), { size });

describe('the views that MemoryDriver.read gives', () => {
  it('share the memory of the object: nothing is copied', async () => {
    const driver = new MemoryDriver();
    await put(driver, 'a', 100);
    const [whole, part] = [
      await readFrom(driver, 'a', 100),
      await driver.read('a', { offset: 40, length: 10 }),
    ];
    expect(driver.capabilities.sharedViews).toBe(true);
    expect(part.buffer).toBe(whole.buffer);
    expect(part).toEqual(pattern(10, 40));
  });

  it('stay as they were after the object was replaced and deleted', async () => {
    const driver = new MemoryDriver();
    await put(driver, 'a', 50);
    const view = await readFrom(driver, 'a', 50);
    await driver.write('a', new Uint8Array(50).fill(7), { size: 50 });
    expect(view).toEqual(pattern(50));
    await driver.delete('a', {});
    expect(view).toEqual(pattern(50));
  });

  it('do not change with the memory that was written from, at once or in pieces', async () => {
    const driver = new MemoryDriver();
    const mine = pattern(8);
    await driver.write('at once', mine, { size: 8 });
    async function* reusing() {
      for (const value of [1, 2]) yield mine.fill(value);
    }
    await driver.write('in pieces', reusing(), { size: 16 });
    mine.fill(9);
    expect(await readFrom(driver, 'at once', 8)).toEqual(pattern(8));
    expect([...(await readFrom(driver, 'in pieces', 16))]).toEqual([
      1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2,
    ]);
  });
});

describe('memory that is given to MemoryDriver.write', () => {
  it('is kept, unless it is a part of more', async () => {
    const driver = new MemoryDriver({ quota: 200 });
    const mine = pattern(100);
    await driver.write('all', mine, { size: 100, isGiven: true });
    await driver.write('part', mine.subarray(40, 50), { size: 10, isGiven: true });
    const [all, part] = [await readFrom(driver, 'all', 100), await readFrom(driver, 'part', 10)];
    expect(all.buffer).toBe(mine.buffer);
    expect(part.buffer.byteLength).toBe(10);
    expect(part).toEqual(pattern(10, 40));
  });

  it('counts as other memory does, and has to be of the announced size', async () => {
    const driver = new MemoryDriver({ quota: 100 });
    const write = (bytes: number, size: number) => driver.write('a', pattern(bytes), { size, isGiven: true });
    await expect(write(101, 101)).rejects.toEqual(withCode('TIERED_NO_SPACE'));
    await expect(write(99, 100)).rejects.toEqual(withCode('TIERED_SIZE_MISMATCH'));
    await write(100, 100);
    expect(await driver.usage({})).toEqual({ bytes: 100, objects: 1, freeBytes: 0 });
  });
});

describe('the capacity of a MemoryDriver', () => {
  it.each<[unknown]>([[-1], [1.5], ['much'], [Number.NaN], [null]])('cannot be %o', (capacity) => {
    const make = () => new MemoryDriver({ quota: capacity as ByteSize });
    expect(make).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });

  it('takes what fits to the byte, and refuses one byte more without losing anything', async () => {
    const driver = new MemoryDriver({ quota: '1KiB' });
    await put(driver, 'a', 1000);
    await expect(put(driver, 'b', 25)).rejects.toEqual(withCode('TIERED_NO_SPACE'));
    expect(await driver.usage({})).toEqual({ bytes: 1000, objects: 1, freeBytes: 24 });
    await put(driver, 'b', 24);
    expect(await driver.usage({})).toEqual({ bytes: 1024, objects: 2, freeBytes: 0 });
    await put(driver, 'empty', 0);
  });

  it('counts only the difference when an object is replaced, and keeps the old one if the new one does not fit', async () => {
    const driver = new MemoryDriver({ quota: 100 });
    await put(driver, 'a', 80);
    await put(driver, 'a', 100);
    await expect(put(driver, 'a', 101)).rejects.toEqual(withCode('TIERED_NO_SPACE'));
    expect(await driver.stat('a', {})).toMatchObject({ size: 100 });
  });

  it('is not exceeded by two writes whose pieces come at the same time', async () => {
    const driver = new MemoryDriver({ quota: 100 });
    const outcomes = ['a', 'b'].map((key) =>
      outcomeOf(driver.write(key, onlyOnce(pattern(60)), { size: 60 })),
    );
    await settled();
    expect(outcomes.filter(({ error }) => error !== undefined)).toEqual([
      { error: withCode('TIERED_NO_SPACE') },
    ]);
    expect(await driver.usage({})).toEqual({ bytes: 60, objects: 1, freeBytes: 40 });
  });

  it('is looked at when an object in parts is begun, and again when it is published', async () => {
    const driver = new MemoryDriver({ quota: 100 });
    await expect(driver.create('a', { size: 101 })).rejects.toMatchObject({
      code: 'TIERED_NO_SPACE',
      operation: 'create',
    });
    const [first, second] = [await driver.create('a', { size: 60 }), await driver.create('b', { size: 60 })];
    expect(await driver.usage({})).toMatchObject({ bytes: 0, objects: 0 });
    await first.publish({});
    await expect(second.publish({})).rejects.toMatchObject({ code: 'TIERED_NO_SPACE', operation: 'publish' });
    await second.discard();
    expect(await driver.usage({})).toMatchObject({ bytes: 60, objects: 1 });
  });

  it('is refused before the first piece is asked for', async () => {
    const driver = new MemoryDriver({ quota: 10 });
    let asked = false;
    async function* pieces() {
      asked = true;
      yield pattern(11);
    }
    await expect(driver.write('a', pieces(), { size: 11 })).rejects.toEqual(withCode('TIERED_NO_SPACE'));
    expect(asked).toBe(false);
  });

  it('an object that no memory can hold is refused as one that does not fit, also without a capacity', async () => {
    const writing = new MemoryDriver().write('a', onlyOnce(), { size: Number.MAX_SAFE_INTEGER });
    await expect(writing).rejects.toEqual(withCode('TIERED_NO_SPACE'));
  });
});

describe('the usage of a MemoryDriver', () => {
  it('cannot tell what is free without a capacity', async () => {
    expect(await new MemoryDriver().usage({})).toEqual({ bytes: 0, objects: 0, freeBytes: undefined });
  });

  it('does not count writes that failed, and deleting what is not there changes nothing', async () => {
    const driver = new MemoryDriver({ quota: 100 });
    await put(driver, 'a', 10);
    for (const size of [4, 6]) {
      const writing = driver.write('b', onlyOnce(pattern(5)), { size });
      await expect(writing).rejects.toEqual(withCode('TIERED_SIZE_MISMATCH'));
    }
    await driver.delete('b', {});
    expect(await driver.usage({})).toEqual({ bytes: 10, objects: 1, freeBytes: 90 });
  });

  it('agrees with the listing after any writes and deletions, and never passes the capacity', async () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd');
    const change = fc.oneof(fc.record({ key, size: fc.nat({ max: 60 }) }), fc.record({ key }));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 30 }), async (changes) => {
        const driver = new MemoryDriver({ quota: 100 });
        const model = new Map<string, number>();
        const used = () => [...model.values()].reduce((sum, size) => sum + size, 0);
        for (const step of changes) {
          if (!('size' in step)) {
            await driver.delete(step.key, {});
            model.delete(step.key);
          } else if (used() - (model.get(step.key) ?? 0) + step.size <= 100) {
            await put(driver, step.key, step.size);
            model.set(step.key, step.size);
          } else {
            await expect(put(driver, step.key, step.size)).rejects.toEqual(withCode('TIERED_NO_SPACE'));
          }
        }
        const bytes = used();
        expect(await driver.usage({})).toEqual({ bytes, objects: model.size, freeBytes: 100 - bytes });
        expect(new Map((await listed(driver)).map((object) => [object.key, object.size]))).toEqual(model);
      }),
    );
  });
});

describe('MemoryDriver', () => {
  it('gives a version that changes with every write of an object, also after it was deleted', async () => {
    const driver = new MemoryDriver();
    const versions = new Set<string>();
    for (let i = 0; i < 4; i++) {
      await put(driver, 'a', 5);
      versions.add((await driver.stat('a', {})).version);
      if (i % 2 === 1) await driver.delete('a', {});
    }
    expect(versions.size).toBe(4);
  });

  it('lists in pages of bounded size, each object once', async () => {
    const driver = new MemoryDriver();
    const keys = Array.from({ length: 2500 }, (_, i) => `${i % 2 ? 'odd' : 'even'}/${i}`);
    for (const key of keys) await put(driver, key, 0);
    const pages: number[] = [];
    for await (const page of driver.list({})) pages.push(page.length);
    expect(pages.reduce((sum, length) => sum + length, 0)).toBe(2500);
    expect(pages.length).toBeGreaterThan(1);
    expect((await listed(driver)).map(({ key }) => key).sort()).toEqual(keys.sort());
    expect(await listed(driver, 'odd/')).toHaveLength(1250);
  });

  it('keeps its objects over close and open, and its name for messages', async () => {
    const driver = new MemoryDriver({ name: 'ram' });
    await put(driver, 'a', 3);
    await driver.close();
    await driver.open({});
    expect(await readFrom(driver, 'a', 3)).toEqual(pattern(3));
    await expect(driver.stat('missing', {})).rejects.toMatchObject({
      code: 'TIERED_NOT_FOUND',
      driver: 'ram',
    });
    expect(new MemoryDriver().name).toBe('memory');
  });
});
