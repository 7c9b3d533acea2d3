/**
 * Clairvoyance: from the seed of a training follows what each worker will read, and from that what it should
 * keep. This is worker 2 of 4 of a training over four epochs, with room for a quarter of the dataset: its
 * plan, the filling in order of access, and the training beside it.
 * Run it: node --conditions=tiered-source --import tsx examples/clairvoyant.ts
 */
import { Hierarchy, MemoryDriver } from '@tiered/core';
import { ThrottleDriver } from '@tiered/core/decorators';
import { Prefetcher } from '@tiered/prefetch';
import { accessTables, globalBatchSampler, samplerSequence } from '@tiered/prefetch/sampling';
import { frequency, placeInOrder, PlacementHandler } from '@tiered/tiering';
import { fillOrder, frequencyPlan } from '@tiered/tiering/plans';

const SAMPLES = 1000;
const EPOCHS = 4;
const WORKER = 2;
const QUOTA = 2_500_000;
const LATENCY_MS = 1;
const BYTES_PER_SECOND = 150e6;

// Sizes are known from a listing, and samples are numbered in an order that all workers agree on.
const sizes = Float64Array.from({ length: SAMPLES }, (_, sample) => 1000 + ((sample * 7919) % 18_000));
const keys = Array.from(sizes, (_, sample) => `sample-${sample}`);
const sampleOf = new Map(keys.map((key, sample) => [key, sample]));
const dataset = new MemoryDriver({ name: 'dataset' });
for (const [sample, size] of sizes.entries())
  await dataset.write(keys[sample] ?? '', new Uint8Array(size).fill(sample), { size });

const sampler = globalBatchSampler({ samples: SAMPLES, epochs: EPOCHS, seed: 42, workers: 4, batchSize: 40 });
const [accesses] = await accessTables(sampler, [WORKER]);
if (accesses === undefined) throw new Error(`there is no worker ${WORKER}`);
const plan = frequencyPlan({
  ...accesses,
  sizes,
  quotas: [QUOTA],
  savedMs: (bytes) => LATENCY_MS + (bytes / BYTES_PER_SECOND) * 1000,
});

await using hierarchy = await new Hierarchy({
  source: new ThrottleDriver(dataset, { latencyMs: LATENCY_MS, bytesPerSecond: BYTES_PER_SECOND }),
  tiers: [{ driver: new MemoryDriver({ name: 'ram' }), quota: QUOTA }],
  placement: new PlacementHandler({ policy: frequency({ plan, sampleOf: (key) => sampleOf.get(key) }) }),
}).open();

function* inOrder(): Generator<string> {
  for (const sample of fillOrder({ plan, first: accesses?.first ?? [] })) yield keys[sample] ?? '';
}

const filling = placeInOrder(hierarchy, inOrder());
let reads = 0;
for await (const { data } of new Prefetcher(hierarchy, samplerSequence(sampler, WORKER, keys)))
  reads += data.byteLength > 0 ? 1 : 0;
const { placed, left } = await filling;
const sourceReads = hierarchy.stats().source.reads;
console.log(`${reads} reads of a training, ${sourceReads} of the source; ${placed.join('/')} samples kept`);
if (left > 0 || sourceReads > reads * 0.8) throw new Error('the plan was not kept to');
