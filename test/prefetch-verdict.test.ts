import { Hierarchy, MemoryDriver, ThrottleDriver } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import { Prefetcher } from '@tiered/prefetch';
import { PlacementHandler } from '@tiered/tiering';
import { expect, it } from 'vitest';

const COUNT = 200;
const SIZE = 1000;

/** What is said of a loader that reads a slow source once, over a tier of so many bytes. */
async function verdictWith(quota: number) {
  const clock = new ManualClock();
  const memory = new MemoryDriver();
  const keys = Array.from({ length: COUNT }, (_, i) => `${i}`);
  for (const key of keys) await memory.write(key, new Uint8Array(SIZE), { size: SIZE });
  const hierarchy = new Hierarchy({
    source: new ThrottleDriver(memory, { latencyMs: 10, clock }),
    tiers: [{ driver: new MemoryDriver(), quota }],
    placement: new PlacementHandler({ chunk: SIZE }),
    clock,
  });
  await clock.run(hierarchy.start());
  const prefetcher = new Prefetcher(hierarchy, keys, { clock, producers: 4, autotuner: false });
  const consume = async () => {
    for await (const { data } of prefetcher) expect(data.byteLength).toBe(SIZE);
  };
  await clock.run(consume());
  const { verdict } = prefetcher.profile();
  await clock.run(hierarchy.close());
  return verdict;
}

it('[P10] the verdict says that tiers have no room, and says nothing of those that have', async () => {
  expect(await verdictWith(COUNT * SIZE)).toMatchObject({ limit: 'source latency' });
  expect((await verdictWith(COUNT * SIZE)).tiers).toBeUndefined();
  const full = await verdictWith(COUNT * SIZE * 0.25);
  expect(full).toMatchObject({ limit: 'source latency', tiers: 'full' });
  expect(full.text).toContain('No tier had room');
});
