import type { StagingBufferOptions } from '@tiered/prefetch';
import { prismaAutotuner } from '@tiered/prefetch/autotuner';
import type { BenchOptions, Check, Row } from '../lib/bench.js';
import type { Comparison } from './compare.js';
import { BATCH, watchedRun, type WatchedRun } from './watched.js';

/** The settings of the PRISMA thesis (figure 5.22), and the one that is the default here. */
const SETTINGS: Readonly<Record<string, () => StagingBufferOptions>> = {
  'PRISMA: Minimum (1 producer, 10 samples)': () => ({
    producers: 1,
    fixed: { samples: 10 },
    autotuner: false,
  }),
  'PRISMA: Maximum (30 producers, 60 samples)': () => ({
    producers: 30,
    fixed: { samples: 60 },
    autotuner: false,
  }),
  'PRISMA: Algorithm 1': () => ({ autotuner: prismaAutotuner() }),
  'PRISMA: Algorithm 1, without its 15 s': () => ({ autotuner: prismaAutotuner({ initialIntervalMs: 100 }) }),
  adaptive: () => ({}),
};

/**
 * How long consumers compute, of the time that their reads take at the bound of the source: one that storage
 * limits, as LeNet of the thesis, and one that computation does, as ResNet-50.
 */
const COMPUTING: Readonly<Record<string, number>> = {
  'no computation': 0,
  'computing 2 x the reading': 2,
};

/** What was seen with one consumer, setting by setting. */
export interface WatchedConsumer {
  readonly name: string;
  readonly runs: readonly (WatchedRun & { readonly setting: string })[];
}

/** PRISMA's settings and its autotuner, beside the default. */
export async function againstPrisma(
  comparison: Comparison,
  { progress }: BenchOptions,
): Promise<{ rows: Row[]; checks: Check[]; consumers: WatchedConsumer[] }> {
  const { source, dataset, count } = comparison;
  const boundMs = (source.bound?.(count, count * dataset.size, 64) ?? 0) * 1000;
  const rows: Row[] = [];
  const consumers: WatchedConsumer[] = [];
  for (const [name, times] of Object.entries(COMPUTING)) {
    const what = `autotuners, ${source.name}, ${dataset.name}, ${name}`;
    const runs: (WatchedRun & { setting: string })[] = [];
    for (const [setting, options] of Object.entries(SETTINGS)) {
      progress(`${what}: ${setting}`);
      const run = await watchedRun(comparison, options(), (boundMs / count) * times * BATCH);
      runs.push({ ...run, setting });
      rows.push(rowOf(what, setting, count, run));
    }
    consumers.push({ name, runs });
  }
  return { rows, checks: [], consumers };
}

function rowOf(what: string, setting: string, count: number, { seconds, stallMs, tuning }: WatchedRun): Row {
  const { producers, samples } = tuning;
  return {
    what,
    setting,
    seconds,
    'objects/s': Math.round(count / seconds),
    stalled: stallMs / 1000 / seconds,
    producers,
    samples: Number.isFinite(samples) ? samples : [],
  };
}
