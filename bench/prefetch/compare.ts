import { alternate, median, medianMs, ratio, type Setups, type Timings } from '../lib/alternate.js';
import { atLeast, type BenchOptions, type Check, type Row } from '../lib/bench.js';
import {
  limited,
  prefetched,
  sequential,
  sequentialReadFile,
  tfjsPrefetch,
  workerPool,
  type Loop,
  type Work,
} from './loops.js';
import { openWork, secondsOf, type Dataset } from './work.js';
import { warmDisk, type Source } from './sources.js';

/** What is compared: some objects behind some source. */
export interface Comparison {
  readonly source: Source;
  readonly dataset: Dataset;
  /** Objects of it that are read. */
  readonly count: number;
}

const CONCURRENCIES = [1, 2, 4, 8, 16, 32, 64];
const OURS = 'prefetcher';
const OURS_IN_BATCHES = 'prefetcher, batches of 32';

/** The prefetcher against what one writes by hand, in alternation. */
export async function compare(
  { source, dataset, count }: Comparison,
  { quick, progress }: BenchOptions,
): Promise<{ rows: Row[]; checks: Check[] }> {
  const name = `${source.name}, ${dataset.name}`;
  const work = await openWork(dataset, source, count);
  try {
    progress(`${name}: the best concurrency`);
    const best = await bestConcurrency(work, source === warmDisk);
    const producers: number[] = [];
    const loops: Record<string, Loop> = {
      'one after the other': source === warmDisk ? sequentialReadFile : sequential,
      [`p-limit, best of a grid`]: limited(best, source === warmDisk),
      ...(source === warmDisk && { 'worker_threads by hand': workerPool(dataset.size > 1e6 ? 1 : 16) }),
      'tfjs-data, mapAsync + prefetch': tfjsPrefetch(best),
      [OURS]: prefetched({}, ({ changes }) => producers.push(changes.at(-1)?.producers ?? 0)),
      [OURS_IN_BATCHES]: prefetched({ batch: 32 }),
    };
    const setups: Setups = Object.fromEntries(
      Object.entries(loops).map(([loop, run]) => [loop, () => run(work)]),
    );
    const rounds = quick ? 1 : 5;
    const timings = await alternate(setups, rounds, (round) =>
      progress(`${name}: round ${round} of ${rounds}`),
    );
    const bytes = count * dataset.size;
    const boundMs = (source.bound?.(count, bytes, 64) ?? 0) * 1000;
    const byHand = Object.keys(loops).filter((loop) => loop !== OURS && loop !== OURS_IN_BATCHES);
    const fastest = byHand.reduce((a, b) => (medianMs(timings, a) <= medianMs(timings, b) ? a : b));
    const rows = Object.keys(loops).map((loop): Row => ({
      source: source.name,
      objects: dataset.name,
      loop: loop.startsWith('p-limit') ? `${loop}: ${best}` : loop,
      'MB/s': bytes / 1e3 / medianMs(timings, loop),
      'objects/s': Math.round((count / medianMs(timings, loop)) * 1000),
      'x fastest by hand': ratio(timings, loop, fastest),
      'x bound': boundMs === 0 ? [] : boundMs / medianMs(timings, loop),
      producers: loop === OURS ? median(producers) : [],
    }));
    return { rows, checks: checksOf(name, timings, boundMs, fastest) };
  } finally {
    await work.hierarchy.close();
  }
}

function checksOf(name: string, timings: Timings, boundMs: number, fastest: string): Check[] {
  const ours = Math.min(medianMs(timings, OURS), medianMs(timings, OURS_IN_BATCHES));
  const best = medianMs(timings, OURS) === ours ? OURS : OURS_IN_BATCHES;
  if (boundMs > 0) return [atLeast(`${name}: of the source's bound`, boundMs / ours, 0.95, 'x')];
  return [atLeast(`${name}: against ${fastest}`, ratio(timings, best, fastest), 1, 'x')];
}

async function bestConcurrency(work: Work, isDirect: boolean): Promise<number> {
  let best = { concurrency: 1, seconds: Infinity };
  for (const concurrency of CONCURRENCIES) {
    const seconds = await secondsOf(() => limited(concurrency, isDirect)(work));
    if (seconds < best.seconds) best = { concurrency, seconds };
  }
  return best.concurrency;
}
