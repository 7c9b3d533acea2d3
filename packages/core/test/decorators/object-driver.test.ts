import { MetricsDriver, ObjectDriver, PrefixDriver } from '@tiered/core/decorators';
import { MemoryDriver } from '@tiered/core';
import { describe, expect, it } from 'vitest';
import { listed, memoryWith, pattern, readFrom, withCode } from '../helpers.js';

async function one() {
  const inner = new MetricsDriver(
    await memoryWith({ 'a/train': pattern(10), 'a/train.bin': pattern(20), b: pattern(30) }),
  );
  return { inner, driver: new ObjectDriver(inner, 'a/train.bin') };
}

describe('ObjectDriver', () => {
  it('refuses an empty key', () => {
    expect(() => new ObjectDriver(new MemoryDriver(), '')).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });

  it('shows one object, and lists nothing for it', async () => {
    const { inner, driver } = await one();
    expect(await listed(driver)).toMatchObject([{ key: 'a/train.bin', size: 20 }]);
    expect(await listed(driver, 'a/')).toHaveLength(1);
    expect(await listed(driver, 'b')).toEqual([]);
    expect(inner.metrics().operations.list).toBeUndefined();
    expect(await readFrom(driver, 'a/train.bin', 20)).toEqual(pattern(20));
    expect(await listed(new ObjectDriver(inner, 'a/t'))).toEqual([]);
    const below = new ObjectDriver(new PrefixDriver(inner, 'a/'), 'train');
    expect(await listed(below)).toMatchObject([{ key: 'train', size: 10 }]);
  });

  it('has no other objects, whatever is asked for them', async () => {
    const { driver } = await one();
    const signal = undefined;
    const missing = withCode('TIERED_NOT_FOUND');
    await expect(driver.stat('b', { signal })).rejects.toThrow(missing);
    await expect(readFrom(driver, 'a/train', 1)).rejects.toThrow(missing);
    await expect(driver.write('b', pattern(1), { size: 1 })).rejects.toThrow(missing);
    await expect(driver.delete('b', { signal })).rejects.toThrow(missing);
    const outcomes = await driver.readMany(
      ['a/train.bin', 'b'].map((key) => ({ key, offset: 0, target: new Uint8Array(2) })),
      {},
    );
    expect(outcomes).toMatchObject([{ bytes: 2 }, { error: { code: 'TIERED_NOT_FOUND' } }]);
  });
});
