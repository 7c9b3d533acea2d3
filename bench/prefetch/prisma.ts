import { StagingBuffer, type StagingBufferOptions } from '@tiered/prefetch';
import { prismaAutotuner } from '@tiered/prefetch/autotuner';
import type { BenchOptions, Check, Row } from '../lib/bench.js';
import type { Comparison } from './compare.js';
import { prefetched } from './loops.js';
import { openWork, secondsOf } from './work.js';

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

/** PRISMA's settings and its autotuner, beside the default. */
export async function againstPrisma(
  { source, dataset, count }: Comparison,
  { progress }: BenchOptions,
): Promise<{ rows: Row[]; checks: Check[] }> {
  const what = `autotuners, ${source.name}, ${dataset.name}`;
  const work = await openWork(dataset, source, count);
  const rows: Row[] = [];
  for (const [setting, options] of Object.entries(SETTINGS)) {
    progress(`${what}: ${setting}`);
    const staging = new StagingBuffer(options());
    const seconds = await secondsOf(() => prefetched({ staging })(work));
    const { producers, samples } = staging.tuning;
    rows.push({
      what,
      setting,
      seconds,
      'objects/s': Math.round(count / seconds),
      stalled: [],
      producers,
      samples: Number.isFinite(samples) ? samples : [],
    });
  }
  await work.hierarchy.close();
  return { rows, checks: [] };
}
