import { HoldingDriver, settled, someBytes } from '@tiered/core/testing';
import { Hierarchy, MemoryDriver } from '@tiered/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { byHand, byPrefetcher } from '../../examples/mnist/readers.js';
import { bytesPerSecondFor } from '../../examples/mnist/source.js';

const SIZE = 1000;
const KEYS = Array.from({ length: 20 }, (_, i) => `shard ${(7 * i) % 20}`);
const SIZES = Object.fromEntries(KEYS.map((key) => [key, SIZE]));
const { signal } = new AbortController();

async function filled(): Promise<MemoryDriver> {
  const driver = new MemoryDriver();
  for (const [i, key] of KEYS.entries()) await driver.write(key, someBytes(SIZE, i), { size: SIZE });
  return driver;
}

describe('the readers of the demo', () => {
  it('give every shard once, in the order that they are asked for', async () => {
    const driver = await filled();
    const hierarchy = await new Hierarchy({ source: driver }).open();
    onTestFinished(() => hierarchy.close());
    for (const read of [byHand(driver, SIZES), byPrefetcher(hierarchy)]) {
      const seen: number[] = [];
      for await (const { position, data } of read(KEYS, signal)) {
        expect(data).toEqual(someBytes(SIZE, position));
        seen.push(position);
      }
      expect(seen).toEqual([...KEYS.keys()]);
    }
  });

  it('are fair to a loop by hand: it reads 8 shards ahead', async () => {
    const held = new HoldingDriver(await filled(), { operations: ['read'] });
    const epoch = byHand(held, SIZES)(KEYS, signal)[Symbol.asyncIterator]();
    const first = epoch.next();
    await settled();
    expect(held.held.map(({ key }) => key)).toEqual(KEYS.slice(0, 8));
    await held.release();
    expect(await first).toMatchObject({ value: { position: 0 } });
    expect(held.held.map(({ key }) => key)).toEqual(KEYS.slice(1, 9));
    await epoch.return?.();
    await held.releaseAll();
  });

  it('find a source that takes three times as long as the model, on any machine', () => {
    for (const epochSeconds of [0.5, 2, 40])
      expect(50e6 / bytesPerSecondFor({ bytes: 50e6 }, epochSeconds)).toBeCloseTo(3 * epochSeconds, 3);
  });
});
