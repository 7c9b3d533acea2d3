import type { HomePlan } from '@tiered/cluster';
import { Random } from '@tiered/core';
import {
  globalBatchSampler,
  redistribute,
  type GlobalBatchSampler,
  type GlobalCheckpoint,
} from '@tiered/prefetch/sampling';
import { describe, expect, it } from 'vitest';
import { BYTES, DATA, ElasticJob, homesAmong, KEYS, SAMPLES } from './elastic.js';

const EPOCHS = 3;
const BATCH = 24;
const START: GlobalCheckpoint = { epoch: 0, batches: 0 };
const END: GlobalCheckpoint = { epoch: EPOCHS, batches: 0 };

const samplerOf = (workers: number, seed = 7) =>
  globalBatchSampler({ samples: SAMPLES, epochs: EPOCHS, seed, batchSize: BATCH, workers });

/** Accesses of a worker until a checkpoint, counted from the beginning. */
function accessesUntil(sampler: GlobalBatchSampler, worker: number, checkpoint: GlobalCheckpoint): number {
  const { epoch, position } = sampler.stateAfter(worker, checkpoint);
  return epoch * sampler.epochLength(worker) + position;
}

/** What all workers read between two checkpoints, in the global order. */
async function readInStep(job: ElasticJob, from: GlobalCheckpoint, to: GlobalCheckpoint): Promise<number[]> {
  const sampler = samplerOf(job.workers.length);
  const ranks = Array.from(job.workers, (_, rank) => rank);
  const until = (checkpoint: GlobalCheckpoint) =>
    ranks.map((rank) => accessesUntil(sampler, rank, checkpoint));
  const begins = until(from);
  const { samples } = await job.read(
    sampler,
    ranks.map((rank) => sampler.stateAfter(rank, from)),
    until(to).map((end, rank) => end - (begins[rank] ?? 0)),
  );
  // One global batch after the other, and in each the parts of the workers.
  const order: number[] = [];
  for (
    let at = begins, { epoch, batches } = from;
    epoch * sampler.batches + batches < to.epoch * sampler.batches + to.batches;
  ) {
    [epoch, batches] = batches + 1 === sampler.batches ? [epoch + 1, 0] : [epoch, batches + 1];
    const next = until({ epoch, batches });
    for (const rank of ranks)
      order.push(
        ...(samples[rank]?.slice(
          (at[rank] ?? 0) - (begins[rank] ?? 0),
          (next[rank] ?? 0) - (begins[rank] ?? 0),
        ) ?? []),
      );
    at = next;
  }
  return order;
}

/** What one worker by itself would read, in order. */
function globalOrder(): number[] {
  const sampler = samplerOf(1);
  return Array.from({ length: EPOCHS }, (_, epoch) => [...sampler.epoch(0, epoch)]).flat();
}

/**
 * Bytes that the source may give again after N workers have become M, one after the other: of samples whose
 * home has left, or is a new worker that does not know which one has the copy. It knows the homes of just
 * before it, and those are others if another new worker was the home in between.
 */
async function bytesAgain(n: number, m: number): Promise<number> {
  const among = await Promise.all(
    Array.from({ length: Math.max(n, m) + 1 }, (_, workers) => homesAmong(workers)),
  );
  const homeOf = (sample: number, workers: number) => among[workers]?.[sample] ?? -1;
  const isReadAgain = (sample: number) => {
    const [before, now] = [homeOf(sample, n), homeOf(sample, m)];
    return before >= m || (now >= n && homeOf(sample, now) !== before);
  };
  return BYTES * KEYS.filter((_, sample) => isReadAgain(sample)).length;
}

const planOf = (workers: number): HomePlan => ({
  homes: Uint16Array.from({ length: SAMPLES }, (_, sample) => (sample * 7) % workers),
  sampleOf: (key) => KEYS.indexOf(key),
  id: `of ${workers}`,
});

/** Each worker reads to somewhere in the first two epochs. Makes states for M of what they have left. */
async function interrupted(job: ElasticJob, { seed, m }: { readonly seed: number; readonly m: number }) {
  const random = new Random(seed, 0);
  const [from, to] = [samplerOf(job.workers.length, seed), samplerOf(m, seed)];
  const counts = job.workers.map((_, rank) => random.below(2 * from.epochLength(rank)));
  const { samples: before, states } = await job.read(from, [], counts);
  return { before, resumed: await redistribute(states, { from, to, keys: KEYS }) };
}

function timesRead(...reads: readonly (readonly number[][])[]): Uint8Array {
  const times = new Uint8Array(SAMPLES);
  for (const sample of reads.flat(2)) times[sample] = (times[sample] ?? 0) + 1;
  return times;
}

/** In an epoch, and between two. */
const CHANGES: readonly GlobalCheckpoint[] = [
  { epoch: 1, batches: 3 },
  { epoch: 0, batches: 6 },
  { epoch: 1, batches: 0 },
];

async function changeInStep(n: number, m: number, change: GlobalCheckpoint): Promise<void> {
  const job = await ElasticJob.start(n);
  const before = await readInStep(job, START, change);
  await job.resize(m);
  const after = await readInStep(job, change, END);
  expect([...before, ...after]).toEqual(globalOrder());
  expect(job.sourceBytes).toBeLessThanOrEqual(DATA + (await bytesAgain(n, m)));
}

describe('N workers become M', () => {
  it.each(CHANGES.flatMap((change) => [[2, 4, change] as const, [3, 6, change] as const]))(
    '[Z3] [Z5] [S2] %d become %d after %o: each sample once, in the global order, from copies of the old homes',
    changeInStep,
  );

  it.each(CHANGES.flatMap((change) => [[4, 3, change] as const, [5, 2, change] as const]))(
    '[Z5] [Z7] [S2] %d become %d after %o: each sample once, and the source is asked again for what has left',
    changeInStep,
  );

  it('[Z3] [Z5] by plan: copies of the old plan are used', async () => {
    const [few, many] = [planOf(3), planOf(5)];
    const job = await ElasticJob.start(3, [few]);
    const change = { epoch: 1, batches: 4 };
    const before = await readInStep(job, START, change);
    await job.resize(5, [few, many]);
    for (const { cluster } of job.workers.slice(0, 3)) cluster.usePlan(many);
    const after = await readInStep(job, change, END);
    expect([...before, ...after]).toEqual(globalOrder());
    expect(job.sourceBytes).toBe(DATA);
  });

  it.each([
    [1, 4, 2],
    [2, 2, 5],
    [3, 3, 4],
  ])(
    '[Z5] [S2] from wherever each of them was (seed %d, %d become %d): each sample once',
    async (seed, n, m) => {
      const job = await ElasticJob.start(n);
      const { before, resumed } = await interrupted(job, { seed, m });
      await job.resize(m);
      const after = await job.read(samplerOf(m, seed), resumed);
      expect(timesRead(before, after.samples)).toEqual(new Uint8Array(SAMPLES).fill(EPOCHS));
      expect(job.sourceBytes).toBeLessThanOrEqual(DATA + (await bytesAgain(n, m)));
    },
  );

  it.each([
    [4, 3, 5],
    [5, 4, 2],
    [6, 3, 3],
  ])(
    '[Z5] [S2] after all of them have ended (seed %d, %d become %d): each sample once, from what is on their disks',
    async (seed, n, m) => {
      const job = await ElasticJob.onDisks(n);
      const { before, resumed } = await interrupted(job, { seed, m });
      await job.resize(0);
      await job.resize(m);
      const after = await job.read(samplerOf(m, seed), resumed);
      expect(timesRead(before, after.samples)).toEqual(new Uint8Array(SAMPLES).fill(EPOCHS));
      // They come in the order of their ranks, as those did that have the copies.
      expect(job.sourceBytes).toBeLessThanOrEqual(DATA + (await bytesAgain(n, m)));
    },
  );
});
