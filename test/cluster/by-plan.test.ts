import { Cluster } from '@tiered/cluster';
import { MemoryRecords, MemoryRegistry } from '@tiered/cluster/registry';
import { Hierarchy, MemoryDriver, systemClock } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { someBytes } from '@tiered/core/testing';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { DataLoader } from '@tiered/loader';
import { PlacementHandler, planFollower } from '@tiered/tiering';
import { expect, it, onTestFinished } from 'vitest';
import { bytesReadOf } from '../../packages/cluster/test/helpers.js';

const RANKS = 4;
const OBJECTS = 400;
const BYTES = 1000;
/** On a machine that is busy, an answer may take long; a second request would be counted. */
const PATIENT = { deadlineMs: 60_000, lateAfterMs: 60_000 };
const JOB = { batchSize: 5, epochs: 3, seed: 7, ranks: RANKS, dropLast: false };

async function sourceOf(): Promise<MemoryDriver> {
  const source = new MemoryDriver({ name: 'source' });
  for (let i = 0; i < OBJECTS; i++) await source.write(`o${1000 + i}`, someBytes(BYTES, i), { size: BYTES });
  return source;
}

/** A rank with room for so many objects, as a program would put it together. */
async function rankOf(rank: number, room: number, source: MemoryDriver, records: MemoryRecords) {
  const cluster = await Cluster.join({
    registry: new MemoryRegistry(records),
    rank,
    size: RANKS,
    ...PATIENT,
  });
  const counted = new MetricsDriver(source);
  const policy = planFollower();
  const hierarchy = await new Hierarchy({
    source: cluster.source(counted),
    tiers: [{ driver: new MemoryDriver({ name: 'ram' }), quota: room * BYTES }],
    placement: new PlacementHandler({ policy, chunk: BYTES }),
  }).open();
  await cluster.serve(hierarchy);
  const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: BYTES }) });
  const loader = new DataLoader(samples, { ...JOB, rank, clairvoyant: { policy, cluster } });
  onTestFinished(async () => {
    await loader.close();
    await hierarchy.close();
    await cluster.close();
  });
  return { cluster, hierarchy, loader, sourceBytes: () => bytesReadOf(counted) };
}

async function trained(room: number) {
  const [source, records] = [await sourceOf(), new MemoryRecords(systemClock)];
  const ranks = await Promise.all(
    Array.from({ length: RANKS }, (_, rank) => rankOf(rank, room, source, records)),
  );
  let samples = 0;
  await Promise.all(
    ranks.map(async ({ loader }) => {
      for await (const batch of loader) samples += batch.data.length;
    }),
  );
  expect(samples).toBe(OBJECTS * JOB.epochs);
  return ranks;
}

it('[Z3] [D9] ranks that plan together read each object of the source once in all epochs, if they have room for all', async () => {
  const ranks = await trained(OBJECTS / RANKS);
  expect(ranks.reduce((sum, { sourceBytes }) => sum + sourceBytes(), 0)).toBe(OBJECTS * BYTES);
  for (const { cluster, hierarchy } of ranks) {
    expect(cluster.stats()).toMatchObject({ inVain: 0 });
    expect(hierarchy.stats().placement.placed).toBe(OBJECTS / RANKS);
  }
});

it('[Z3] what no rank has room for is read from the source by who needs it, and passes through nobody', async () => {
  const ranks = await trained(OBJECTS / RANKS / 2);
  // Half of the objects once, the other half in each epoch, unless a rank reads one twice at the same moment.
  const optimum = (OBJECTS / 2) * BYTES * (1 + JOB.epochs);
  const joined = ranks.reduce((sum, { hierarchy }) => sum + hierarchy.stats().reads.joined, 0);
  const bytes = ranks.reduce((sum, { sourceBytes }) => sum + sourceBytes(), 0);
  expect(bytes).toBeLessThanOrEqual(optimum);
  expect(bytes).toBeGreaterThanOrEqual(optimum - joined * BYTES);
  for (const { cluster } of ranks) expect(cluster.stats().inVain).toBe(0);
});
