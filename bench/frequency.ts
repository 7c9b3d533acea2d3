import { Random, systemClock } from '@tiered/core';
import { accessTables, globalBatchSampler } from '@tiered/prefetch/sampling';
import { clusterPlan, frequencyPlan } from '@tiered/tiering/plans';
import { lognormalSizes, makeDataset } from './frequency/dataset.js';
import { readMs, Training, type Rule, type Source, type Work } from './frequency/training.js';
import { alternate, medianMs, ratio, type Timings } from './lib/alternate.js';
import { atLeast, atMost, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { withScratch } from './lib/scratch.js';

const WORKERS = 4;
const WORKER = 1;
/** Reads at the same time, and how many times as fast value per byte is to be. */
const READERS = [
  [1, 1.5],
  [4, 1.2],
] as const;
const SEED = 1;
/** ImageNet-22k. */
const MANY_SAMPLES = 14_197_122;

const distant: Source = { name: '5 ms, 150 MB/s', latencyMs: 5, bytesPerSecond: 150e6 };
const near: Source = { ...distant, name: '0 ms, 150 MB/s', latencyMs: 0 };

const plain: Rule = { name: 'plain frequency' };
const byValue: Rule = { name: 'value per byte', believed: distant };
/** Of the source without latency, by what it is, and by what it is not. */
const byBandwidth: Rule = { name: 'value per byte', believed: near };
const misled: Rule = { name: 'value per byte, told of 5 ms', believed: distant };

const CASES = [
  { source: distant, rules: [plain, byValue] },
  { source: near, rules: [plain, byBandwidth, misled] },
];

const bench: Bench = {
  summary:
    'a worker of 4 with room for 30 % of a dataset of different sizes, filled by value per byte and by plain frequency',
  async run(options) {
    const checks: Check[] = [];
    // First, as the peak of memory is that of the whole process.
    planning(options, checks);
    await covering(checks);
    const rows = await withScratch((scratch) => training(options, scratch, checks));
    return { rows, checks };
  },
};

export default bench;

/** What a plan of very many samples costs. */
function planning({ quick, progress }: BenchOptions, checks: Check[]): void {
  progress('planning');
  const samples = quick ? 1_000_000 : MANY_SAMPLES;
  const random = new Random(SEED);
  const frequency = new Uint8Array(samples).map(() => random.below(8));
  const first = random.permutation(samples);
  const sizes = lognormalSizes(samples);
  const peak = () => process.resourceUsage().maxRSS / 1000;
  const before = peak();
  const start = systemClock.now();
  const savedMs = (bytes: number) => readMs(distant, bytes);
  frequencyPlan({ frequency, first, sizes, quotas: [50e9, 100e9], savedMs });
  const seconds = (systemClock.now() - start) / 1000;
  const name = `plan of ${samples.toLocaleString('en')} samples by value per byte`;
  checks.push(atMost(name, seconds, 10, 's'), atMost(`${name}, memory`, peak() - before, 500, 'MB'));
}

/**
 * How much of a dataset workers hold together that have room for all of it if nobody keeps what another does.
 */
async function covering(checks: Check[]): Promise<void> {
  const samples = 20_000;
  for (const workers of [4, 8]) {
    const sampler = globalBatchSampler({ samples, epochs: 40, seed: SEED, workers, batchSize: 128 });
    const accesses = await accessTables(sampler, [...Array(workers).keys()]);
    const sizes = new Uint8Array(samples).fill(1);
    const cluster = clusterPlan({ accesses, sizes, quotas: [samples / workers] });
    let held = 0;
    for (let sample = 0; sample < samples; sample++) held += cluster.holders(sample).length > 0 ? 1 : 0;
    const byChance = Math.round(100 * (1 - (1 - 1 / workers) ** workers));
    const name = `held by one of ${workers} workers with room for 1/${workers} each; more than by chance`;
    checks.push(atLeast(name, (100 * held) / samples, byChance, '%'));
  }
}

async function training(options: BenchOptions, scratch: string, checks: Check[]): Promise<Row[]> {
  const { quick, progress } = options;
  const samples = quick ? 300 : 1000;
  const epochs = quick ? 4 : 12;
  const dataset = await makeDataset(samples);
  const sampler = globalBatchSampler({ samples, epochs, seed: SEED, workers: WORKERS, batchSize: 40 });
  const [accesses] = await accessTables(sampler, [WORKER]);
  if (accesses === undefined) throw new Error(`there is no worker ${WORKER}`);
  const work: Work = { dataset, sampler, accesses };
  const rows: Row[] = [];
  for (const { source, rules } of CASES) {
    progress(`${source.name}: filling`);
    const trainings = new Map<Rule, Training>();
    for (const rule of rules) trainings.set(rule, await Training.start(work, source, rule, scratch));
    for (const [readers, aim] of READERS) {
      const timings = await measure(trainings, readers, options);
      for (const [rule, { training: one, operations }] of timings.seen)
        rows.push(row(source, readers, rule, one, timings.timings, operations, epochs));
      const gain = ratio(timings.timings, byValue.name, plain.name);
      if (source === distant)
        checks.push(
          atLeast(`value per byte against plain frequency, ${readers} at a time`, gain, aim, 'x as fast'),
        );
    }
    for (const one of trainings.values()) await one.close();
  }
  return rows;
}

/** Each rule in turns; and the operations of the source in one run of each. */
async function measure(
  trainings: ReadonlyMap<Rule, Training>,
  readers: number,
  { quick, progress }: BenchOptions,
): Promise<{ timings: Timings; seen: Map<Rule, { training: Training; operations: number }> }> {
  const rounds = quick ? 1 : 3;
  const seen = new Map([...trainings].map(([rule, training]) => [rule, { training, operations: 0 }]));
  const setups = Object.fromEntries(
    [...seen].map(([rule, one]) => {
      const run = async () => {
        const before = one.training.sourceOperations;
        await one.training.run(readers);
        one.operations = one.training.sourceOperations - before;
      };
      return [rule.name, run];
    }),
  );
  const timings = await alternate(setups, rounds, (round) =>
    progress(`${readers} readers: round ${round} of ${rounds}`),
  );
  return { timings, seen };
}

function row(
  source: Source,
  readers: number,
  rule: Rule,
  training: Training,
  timings: Timings,
  operations: number,
  epochs: number,
): Row {
  const predicted = training.predicted(readers);
  return {
    source: source.name,
    readers,
    rule: rule.name,
    's an epoch': medianMs(timings, rule.name) / 1000 / epochs,
    'predicted s': predicted.seconds / epochs,
    'x plain': ratio(timings, rule.name, plain.name),
    '% of accesses': 100 * predicted.accesses,
    '% of bytes': 100 * predicted.bytes,
    'source operations an epoch': operations / epochs,
  };
}
