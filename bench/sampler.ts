import { Random, systemClock } from '@tiered/core';
import {
  accessAnalysis,
  accessDistribution,
  firstAccesses,
  frequencyTable,
  frequencyTables,
  globalBatchSampler,
  torchDistributedSampler,
  torchRandperm,
  type AccessAnalysis,
} from '@tiered/prefetch/sampling';
import { alternate, medianMs, ratio } from './lib/alternate.js';
import { atMost, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';

/** ImageNet-22k. */
const SAMPLES = 14_200_000;
const QUICK = 1_000_000;
const EPOCHS = 90;
const WORKERS = 32;
/** A few samples of each worker in a step, as they are usual. */
const BATCH = 32 * WORKERS;
const SEED = 1;

/** What is found goes in here, and to the caller. */
interface Findings {
  readonly rows: Row[];
  readonly checks: Check[];
}

const bench: Bench = {
  summary: 'access sequences: permutations, and the tables of a worker of 32 over 90 epochs',
  async run(options) {
    const findings: Findings = { rows: [], checks: [] };
    const samples = options.quick ? QUICK : SAMPLES;
    // Before anything else has used memory: the peak of the process is a figure here.
    await measureTables(samples, options, findings);
    await measurePermutations(samples, options, findings);
    const { rows, analysis, counted } = await countAccesses();
    findings.rows.push(...rows);
    const title = '10,000 samples, 4 workers, 1,000 epochs: what one worker reads';
    const chart = async () =>
      (await import('@tiered/simulator/report')).renderAccesses({ title, analysis, counted });
    return { ...findings, chart };
  },
};

export default bench;

/** Figure 2 of the HDMLP paper, with its numbers. */
async function countAccesses(): Promise<{
  readonly rows: readonly Row[];
  readonly analysis: AccessAnalysis;
  readonly counted: Uint32Array;
}> {
  const training = { samples: 10_000, epochs: 1_000, workers: 4 };
  const analysis = accessAnalysis({ ...training, delta: 0.1 });
  const sampler = globalBatchSampler({ ...training, seed: SEED, batchSize: 32 });
  const counted = accessDistribution(await frequencyTable(sampler, 0));
  const what = `samples of 10,000 that a worker of 4 reads ${analysis.threshold} times and more in 1,000 epochs`;
  const more = counted.subarray(analysis.threshold).reduce((sum, count) => sum + count, 0);
  return {
    rows: [
      { what: `${what}, expected`, value: analysis.expected, unit: '' },
      { what: `${what}, counted`, value: more, unit: '' },
    ],
    analysis,
    counted,
  };
}

async function measureTables(samples: number, options: BenchOptions, findings: Findings): Promise<void> {
  const { rows, checks } = findings;
  const settings = { samples, epochs: EPOCHS, seed: SEED, workers: WORKERS };
  const global = () => globalBatchSampler({ ...settings, batchSize: BATCH });
  const told = (what: string) => ({
    onProgress: (done: number, epochs: number) => options.progress(`${what}: epoch ${done} of ${epochs}`),
  });
  const measure = async (what: string, work: (progress: ReturnType<typeof told>) => Promise<unknown>) => {
    const [start, before] = [systemClock.now(), process.cpuUsage()];
    await work(told(what));
    const seconds = (systemClock.now() - start) / 1000;
    const { user, system } = process.cpuUsage(before);
    const peak = (process.resourceUsage().maxRSS * 1024) / 1e6;
    rows.push(
      { what, value: seconds, unit: 's' },
      // On a busy machine this is what says how long it would take on another.
      { what: `${what}, time of processors`, value: (user + system) / 1e6, unit: 's' },
      { what: `${what}, RSS of the process so far, peak`, value: peak, unit: 'MB' },
    );
    return { seconds, peak };
  };
  const name = `${samples.toLocaleString('en')} samples, ${EPOCHS} epochs, ${WORKERS} workers`;
  const table = await measure('frequency table of a worker', (progress) =>
    frequencyTable(global(), 5, progress),
  );
  checks.push(
    atMost(`frequency table of a worker (${name})`, table.seconds, 60, 's'),
    atMost('RSS of the process meanwhile, peak', table.peak, 500, 'MB'),
  );
  await measure('first accesses of a worker', (progress) => firstAccesses(global(), 5, progress));
  await measure("frequency table of a worker, PyTorch's sampler", (progress) =>
    frequencyTable(torchDistributedSampler(settings), 5, progress),
  );
  await measure('frequency tables of all workers', (progress) =>
    frequencyTables(global(), [...Array(WORKERS).keys()], progress),
  );
}

async function measurePermutations(
  samples: number,
  options: BenchOptions,
  { rows }: Findings,
): Promise<void> {
  const random = 'Random.permutation';
  const torch = 'torchRandperm';
  const setups = {
    [random]: async () => void new Random(SEED, 1).permutation(samples),
    [torch]: async () => void torchRandperm(samples, SEED),
  };
  const rounds = options.quick ? 3 : 11;
  const timings = await alternate(setups, rounds, (round) =>
    options.progress(`permutations: round ${round} of ${rounds}`),
  );
  for (const setup of [random, torch])
    rows.push({
      what: `${setup} of ${samples.toLocaleString('en')}`,
      value: medianMs(timings, setup),
      unit: 'ms',
    });
  rows.push({ what: 'the same', value: ratio(timings, torch, random), unit: `x as fast as ${random}` });
}
