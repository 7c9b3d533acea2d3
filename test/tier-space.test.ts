import { Hierarchy, MemoryDriver, type HierarchyStats, type TierOptions } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { frequency, placeInOrder, PlacementHandler, type FillCounts } from '@tiered/tiering';
import { bytesWithRoom, fillOrder, frequencyPlan, roomsOf, tierSpaces } from '@tiered/tiering/plans';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

interface Case {
  readonly objects: number;
  readonly size: number;
  /** Makes its key. */
  readonly keyOf: (i: number) => string;
  readonly tier: Omit<TierOptions, 'driver'>;
}

/** A directory for a tier, which is removed at the end. */
async function disk(): Promise<FileSystemDriver> {
  const root = await mkdtemp(path.join(os.tmpdir(), 'tier-space-'));
  onTestFinished(() => rm(root, { recursive: true }));
  return new FileSystemDriver({ root, writable: true });
}

/** Places by a plan, in the order of the plan. */
async function placedBy(driver: TierOptions['driver'], { objects, size, keyOf, tier }: Case) {
  const source = new MemoryDriver({ name: 'source' });
  for (let i = 0; i < objects; i++) await source.write(keyOf(i), Buffer.alloc(size, i), { size });
  let plan = new Uint8Array();
  const sampleOf = (key: string) => hierarchy.namespace.find(key);
  const policy = frequency({ plan, sampleOf });
  const follower = {
    ...policy,
    place: (...args: Parameters<typeof policy.place>) => frequency({ plan, sampleOf }).place(...args),
  };
  const hierarchy: Hierarchy = new Hierarchy({
    source,
    tiers: [{ driver, ...tier }],
    placement: new PlacementHandler({ policy: follower }),
  });
  onTestFinished(() => hierarchy.close());
  await hierarchy.open();
  const { namespace } = hierarchy;
  const reads = new Uint32Array(objects).fill(1);
  const first = reads.map((_, i) => (i * 7919) % objects);
  const sizes = reads.map(() => size);
  const quotas = await roomsOf(hierarchy.tiers, namespace);
  plan = Uint8Array.from(frequencyPlan({ frequency: reads, first, sizes, quotas }));
  const order = fillOrder({ plan, first });
  const counts: FillCounts = await placeInOrder(
    hierarchy,
    Array.from(order, (id) => namespace.keyOf(id)),
  );
  await hierarchy.idle();
  const stats: HierarchyStats = hierarchy.stats();
  return { planned: order.length, counts, stats };
}

describe('what objects take of a tier', () => {
  it.each<[string, Case]>([
    ['files', { objects: 600, size: 10_000, keyOf: (i) => `${i}.jpg`, tier: { quota: 4e6 } }],
    [
      'files in directories',
      { objects: 600, size: 10_000, keyOf: (i) => `Class ${i % 90}/a/${i}.jpg`, tier: { quota: 4e6 } },
    ],
    [
      'packed copies',
      { objects: 600, size: 10_000, keyOf: (i) => `train/${i}.jpg`, tier: { quota: 4e6, layout: 'packed' } },
    ],
  ])('[D14] is what is planned, and all of it is placed: %s', async (_, one) => {
    const { planned, counts, stats } = await placedBy(await disk(), one);
    expect(planned).toBeLessThan(one.objects);
    expect(counts).toEqual({ placed: [planned], left: 0, failed: 0 });
    // Little is left over.
    const [{ usedBytes, quotaBytes } = { usedBytes: 0, quotaBytes: 0 }] = stats.tiers;
    expect(usedBytes / quotaBytes).toBeGreaterThan(0.8);
  });

  it('[D14] is their bytes in memory', async () => {
    const one = { objects: 100, size: 1000, keyOf: String, tier: { quota: 2 ** 20 } };
    const { planned, counts } = await placedBy(new MemoryDriver({ name: 'ram' }), one);
    expect(planned).toBe(100);
    expect(counts.placed).toEqual([100]);
    const driver = new MemoryDriver({ name: 'ram' });
    const [space] = await tierSpaces([{ driver, quotaBytes: 2500 }]);
    const taken = [1, 2, 3].map((i) => space?.take({ key: String(i), size: 1000, version: '' }));
    expect(taken).toEqual([true, true, false]);
    expect(space?.freeBytes).toBe(500);
  });

  it('is known of a directory that is not there', async () => {
    const driver = new FileSystemDriver({ root: path.join(os.tmpdir(), 'not/there/yet'), writable: true });
    const [space] = await tierSpaces([{ driver, quotaBytes: 10e6 }]);
    const object = { key: 'train/cat/1.png', size: 10_000, version: 'v' };
    const first = space?.occupied(object) ?? 0;
    expect(space?.take(object)).toBe(true);
    // Two directories are there now.
    expect(space?.occupied({ ...object, key: 'train/cat/2.png' })).toBe(first - 2 * 4096);
  });

  it('[D14] says how many bytes have room, on one tier after the other', async () => {
    const source = new MemoryDriver({ name: 'source' });
    for (let i = 0; i < 100; i++) await source.write(String(i), Buffer.alloc(1000), { size: 1000 });
    await using hierarchy = await new Hierarchy({ source }).open();
    const ram = (quotaBytes: number) => ({ driver: new MemoryDriver({ name: 'ram' }), quotaBytes });
    const { namespace } = hierarchy;
    expect(await bytesWithRoom([ram(10_500), ram(20_999)], namespace)).toEqual([10_000, 20_000]);
    expect(await bytesWithRoom([ram(10_500), ram(1e6)], namespace)).toEqual([10_000, 90_000]);
  });
});
