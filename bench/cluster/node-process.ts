/*
 * A worker of a training. Answers each line, which is a task as JSON, with what came of it.
 */
import { Cluster, SharedTierDriver } from '@tiered/cluster';
import { SqliteRegistry } from '@tiered/cluster/registry';
import { Hierarchy, MemoryDriver, systemClock } from '@tiered/core';
import { listSequence, Prefetcher, StagingBuffer, type SampleRequest } from '@tiered/prefetch';
import { rankSampler, type Sampler } from '@tiered/prefetch/sampling';
import { RedisDriver } from '@tiered/redis-adapter';
import { S3Driver } from '@tiered/s3-adapter';
import { rateOf } from '@tiered/simulator/calibration';
import { firstFit, PlacementHandler, planFollower } from '@tiered/tiering';
import readline from 'node:readline';
import { keysOf, type Dataset } from '../gateway/datasets.js';
import { SEED } from './cases.js';
import type { EpochTask, Kept, Line, NodeEpoch, NodeTask } from './node.js';
import { planOf } from './plan.js';

/** Milliseconds to wait for the others. */
const OTHERS_MS = 20_000;
/** A training that is ahead by less does not wait: timers take a millisecond at least. */
const AHEAD_MS = 2;

interface Opened {
  readonly dataset: Dataset;
  readonly keys: readonly string[];
  readonly rank: number;
  readonly sampler: Sampler;
  readonly hierarchy: Hierarchy;
  readonly cluster: Cluster | undefined;
  /** Who keeps each sample; undefined without a plan. */
  readonly homes: Uint16Array | undefined;
  /** Of all epochs, so that what is learnt in one is known in the next. */
  readonly staging: StagingBuffer;
}

async function open(task: NodeTask): Promise<Opened> {
  const { dataset, endpoint, rank, nodes, epochs, sharing, quota, registry, redis } = task;
  const sampler = rankSampler({ samples: dataset.objects, epochs, seed: SEED, workers: nodes });
  const keys = keysOf(dataset);
  const bucket = new S3Driver({
    bucket: dataset.bucket,
    endpoint,
    pathStyle: true,
    credentials: 'anonymous',
  });
  const driver =
    redis === undefined
      ? bucket
      : new SharedTierDriver(bucket, { tier: new RedisDriver({ url: redis, writable: true }) });
  const cluster =
    sharing === 'alone'
      ? undefined
      : await Cluster.join({ registry: new SqliteRegistry({ path: registry }), rank, size: nodes });
  const follower = planFollower();
  const policy = sharing === 'by plan' ? follower : (cluster?.policy(firstFit) ?? firstFit);
  const hierarchy = await new Hierarchy({
    source: cluster?.source(driver) ?? driver,
    ...(quota > 0 && {
      tiers: [{ driver: new MemoryDriver({ name: 'ram' }), quota }],
      placement: new PlacementHandler({ policy }),
    }),
  }).open();
  await cluster?.serve(hierarchy);
  let homes: Uint16Array | undefined;
  if (sharing === 'by plan') {
    const { plan, ...shared } = planOf(sampler, rank, quota, dataset.bytes);
    homes = shared.homes;
    const numbers = new Map(keys.map((key, number) => [key, number]));
    const sampleOf = (key: string) => numbers.get(key);
    follower.follow({ plan, sampleOf });
    cluster?.usePlan({ homes: shared.homes, sampleOf });
  }
  if (cluster !== undefined && !(await cluster.gathered({ timeoutMs: OTHERS_MS })))
    throw new Error(`worker ${rank} does not see the others`);
  return { dataset, keys, rank, sampler, hierarchy, cluster, homes, staging: new StagingBuffer() };
}

/** Objects whole, or piece by piece. */
function prefetcherOf({ dataset, hierarchy, staging }: Opened, keys: readonly string[]): Prefetcher {
  const { bytes, piece } = dataset;
  if (bytes === piece) return new Prefetcher(hierarchy, listSequence(keys), { staging });
  const pieces = bytes / piece;
  const requests = Array.from({ length: keys.length * pieces }, (_, position): SampleRequest => {
    const key = keys[Math.floor(position / pieces)] ?? '';
    const offset = (position % pieces) * piece;
    return {
      ...{ key, epoch: 0, position, size: piece },
      readInto: (target, { signal }) => hierarchy.readInto(key, target, { offset, signal }),
    };
  });
  return new Prefetcher({ name: 'pieces', stats: () => hierarchy.stats() }, requests, { staging });
}

async function read(opened: Opened, { epoch, computeBytesPerSecond }: EpochTask): Promise<NodeEpoch> {
  const { keys, rank, sampler, cluster } = opened;
  const own = Array.from(sampler.epoch(rank, epoch), (sample) => keys[sample] ?? '');
  const bytesPerMs = (computeBytesPerSecond ?? Infinity) / 1000;
  const before = { stats: cluster?.stats(), cpu: process.cpuUsage() };
  const begun = systemClock.now();
  let [trainedAt, bytes, stalledMs] = [begun, 0, 0];
  await using prefetcher = prefetcherOf(opened, own);
  for await (const { data } of prefetcher) {
    bytes += data.byteLength;
    const { stallMs } = prefetcher.stats();
    // A sample that was there is trained on as soon as the one before it is done: that the timer ended later,
    // because other nodes have the processor, is no part of a training.
    const from = stallMs > stalledMs ? Math.max(trainedAt, systemClock.now()) : trainedAt;
    stalledMs = stallMs;
    trainedAt = from + data.byteLength / bytesPerMs;
    const ahead = trainedAt - systemClock.now();
    if (ahead > AHEAD_MS) await systemClock.sleep(ahead);
  }
  const seconds = (Math.max(trainedAt, systemClock.now()) - begun) / 1000;
  const expected = own.length * opened.dataset.bytes;
  if (bytes !== expected) throw new Error(`${bytes} bytes came of ${expected}`);
  const stats = cluster?.stats();
  const { user, system } = process.cpuUsage(before.cpu);
  const since = (of: (counts: NonNullable<typeof stats>) => number) =>
    stats === undefined || before.stats === undefined ? 0 : of(stats) - of(before.stats);
  return {
    seconds,
    stallSeconds: prefetcher.stats().stallMs / 1000,
    bytes,
    peerBytes: since(({ peers }) => peers.bytes),
    inVain: since(({ inVain }) => inVain),
    late: since(({ late }) => late),
    cpuSeconds: (user + system) / 1e6,
  };
}

/** As `tiered calibrate` measures a level: bytes over time, here of a training's own reads. */
async function rate(opened: Opened, kept: Kept): Promise<{ readonly rate: number }> {
  const { keys, rank, sampler, homes } = opened;
  const epochs = Array.from({ length: sampler.epochs }, (_, epoch) => [...sampler.epoch(rank, epoch)]);
  const samples = [...new Set(epochs.flat())].filter(
    (sample) => (homes?.[sample] === rank) === (kept === 'by itself'),
  );
  await using prefetcher = prefetcherOf(
    opened,
    samples.map((sample) => keys[sample] ?? ''),
  );
  const reads = prefetcher[Symbol.asyncIterator]();
  const next = async () => {
    const read = await reads.next();
    return read.done === true ? undefined : read.value.data.byteLength;
  };
  return { rate: await rateOf([{ next }], { ms: Infinity, bytes: Infinity }, systemClock) };
}

let opened: Opened | undefined;
for await (const line of readline.createInterface(process.stdin)) {
  const task = JSON.parse(line) as Line;
  let answer: object = {};
  if (typeof task === 'object' && 'open' in task) opened = await open(task.open);
  else if (opened === undefined) throw new Error('nothing is open');
  else if (task === 'idle') await opened.hierarchy.idle();
  else if (task === 'close') {
    await opened.hierarchy.close();
    await opened.cluster?.close();
  } else answer = 'rate' in task ? await rate(opened, task.rate) : await read(opened, task.read);
  console.log(JSON.stringify(answer));
}
process.exit();
