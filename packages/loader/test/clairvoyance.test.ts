import { Hierarchy, MemoryDriver } from '@tiered/core';
import { openSamples, type SampleSet } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { firstFit, planFollower, PlacementHandler, type PlacementPolicy } from '@tiered/tiering';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loaderOf, namesOf, singles } from './helpers.js';
import { recordBytes } from './formats.js';

const OBJECTS = 200;
const ROOM = 50;
const BYTES = 8;
const JOB = { batchSize: 5, epochs: 6, seed: 3, rank: 1, ranks: 4 };

async function tiered(policy: PlacementPolicy): Promise<SampleSet<Uint8Array>> {
  const source = new MemoryDriver({ name: 'source' });
  for (let object = 0; object < OBJECTS; object++)
    await source.write(String(1000 + object), recordBytes(object, 0), { size: BYTES });
  const hierarchy = await new Hierarchy({
    source,
    tiers: [{ driver: new MemoryDriver({ name: 'ram' }), quota: ROOM * BYTES }],
    placement: new PlacementHandler({ policy, chunk: BYTES }),
  }).open();
  onTestFinished(() => hierarchy.close());
  return openSamples(hierarchy, { format: rawRecords({ recordBytes: BYTES }) });
}

/** How often this rank reads each object. */
async function frequencies(): Promise<Map<string, number>> {
  const seen = new Map<string, number>();
  for (const name of (await namesOf(loaderOf(await tiered(firstFit), JOB))).flat())
    seen.set(name, (seen.get(name) ?? 0) + 1);
  return seen;
}

describe('a clairvoyant loader', () => {
  it('[D9] keeps what this rank reads most often, and reads the source as seldom as can be', async () => {
    const policy = planFollower();
    const samples = await tiered(policy);
    const loader = loaderOf(samples, { ...JOB, clairvoyant: { policy } });
    await namesOf(loader);
    await samples.hierarchy.idle();
    const byFrequency = await frequencies();
    const { namespace } = samples.hierarchy;
    const kept = samples.keys.filter((key) => namespace.levelOf(namespace.find(key)) === 0);
    expect(kept).toHaveLength(ROOM);
    const frequencyOf = (key: string) => byFrequency.get(`${Number(key) - 1000}/0`) ?? 0;
    const most = [...byFrequency.values()].sort((a, b) => b - a).slice(0, ROOM);
    expect(kept.map(frequencyOf).sort((a, b) => b - a)).toEqual(most);
    const reads = [...byFrequency.values()].reduce((sum, count) => sum + count, 0);
    const saved = most.reduce((sum, count) => sum + count - 1, 0);
    // Each kept object is fetched once, by whoever is first.
    expect(samples.hierarchy.stats().source.reads).toBe(reads - saved);
    expect(loader.stats().clairvoyance).toEqual({
      filled: { placed: [ROOM], left: 0, failed: 0 },
      error: undefined,
    });
  });

  it('[D9] gives the same batches as any other', async () => {
    const policy = planFollower();
    const batches = await namesOf(loaderOf(await tiered(policy), { ...JOB, clairvoyant: { policy } }));
    expect(batches).toEqual(await namesOf(loaderOf(await tiered(firstFit), JOB)));
  });

  it('can be closed at once', async () => {
    const policy = planFollower();
    const loader = loaderOf(await tiered(policy), { ...JOB, clairvoyant: { policy } });
    await loader.close();
    expect(loader.stats().clairvoyance).toEqual({ filled: undefined, error: undefined });
  });

  it('is of the same rank as its cluster, and its plan is that of all', async () => {
    const policy = planFollower();
    const samples = await tiered(policy);
    const clusterOf = (rank: number) => ({ rank, usePlan: () => undefined, gathered: async () => true });
    const rank = JOB.rank + 1;
    expect(() => loaderOf(samples, { ...JOB, clairvoyant: { policy, cluster: clusterOf(rank) } })).toThrow(
      `clairvoyant.cluster: expected a worker of rank ${JOB.rank}, as the loader, got ${rank}`,
    );
    const clairvoyant = { policy, cluster: clusterOf(JOB.rank), savedMs: () => 1 };
    expect(() => loaderOf(samples, { ...JOB, clairvoyant })).toThrow(
      /^clairvoyant\.savedMs: expected nothing in a cluster/,
    );
  });

  it('needs one hierarchy', async () => {
    const [a, b] = [await singles([1]), await singles([1])];
    const options = { ...JOB, clairvoyant: { policy: planFollower() } };
    expect(() => loaderOf([{ samples: a }, { samples: b }], options)).toThrow(
      /^clairvoyant: .*one hierarchy/,
    );
  });
});
