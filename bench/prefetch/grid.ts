import { median } from '../lib/alternate.js';
import { atLeast, atMost, type BenchOptions, type Check, type Row } from '../lib/bench.js';
import type { Comparison } from './compare.js';
import { prefetched, type Seen, type Work } from './loops.js';
import { warmDisk } from './sources.js';
import { openWork, secondsOf } from './work.js';

/** Fewer than are listed would only be slower, and take minutes. */
const FROM_A_SLOW_SOURCE = [6, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64];
const FROM_A_FAST_SOURCE = [1, 2, 3, 4, 6, 8, 12, 16];
const MEMORY = ['8MiB', '64MiB'];
const QUICK_PRODUCERS = [1, 8];

/** Nothing more may be gained by more producers than those that reach this share of the best. */
const GOOD = 0.95;

interface Point {
  readonly producers: number;
  readonly memory: string;
  readonly seconds: number;
}

/** The autotuner against every setting of a grid, each by itself and the autotuner between them. */
export async function againstGrid(
  { source, dataset, count }: Comparison,
  { quick, progress }: BenchOptions,
): Promise<{ rows: Row[]; checks: Check[] }> {
  const name = `${source.name}, ${dataset.name}`;
  const work = await openWork(dataset, source, count);
  try {
    const points: Point[] = [];
    const slow = source === warmDisk ? FROM_A_FAST_SOURCE : FROM_A_SLOW_SOURCE;
    const all = quick ? QUICK_PRODUCERS : slow;
    const tuned: (Seen & { seconds: number })[] = [];
    for (const memory of quick ? MEMORY.slice(0, 1) : MEMORY) {
      for (const producers of all) {
        progress(`${name}: ${producers} producers, ${memory}`);
        const fixed = { producers, concurrency: 64, memory, autotuner: false as const };
        points.push({ producers, memory, seconds: await secondsOf(() => prefetched(fixed)(work)) });
      }
      for (let i = 0; i < 2; i++) tuned.push(await tunedRun(work));
    }
    return figuresOf(name, points, tuned);
  } finally {
    await work.hierarchy.close();
  }
}

async function tunedRun(work: Work): Promise<Seen & { seconds: number }> {
  let seen: Seen | undefined;
  const seconds = await secondsOf(() => prefetched({}, (run) => (seen = run))(work));
  if (seen === undefined) throw new Error('the prefetcher did not run');
  return { ...seen, seconds };
}

function figuresOf(
  name: string,
  points: readonly Point[],
  tuned: readonly (Seen & { seconds: number })[],
): { rows: Row[]; checks: Check[] } {
  const best = points.reduce((a, b) => (a.seconds <= b.seconds ? a : b));
  const good = points.filter(({ seconds }) => best.seconds / seconds >= GOOD);
  const smallest = Math.min(...good.map(({ producers }) => producers));
  const seconds = median(tuned.map((run) => run.seconds));
  const producers = median(tuned.map(({ changes }) => changes.at(-1)?.producers ?? 0));
  const row = (setting: string, took: number, cells: Row = {}): Row => ({
    source: name,
    setting,
    seconds: took,
    'x best': best.seconds / took,
    producers: [],
    'last change after s': [],
    ...cells,
  });
  const rows = [
    row(`best of the grid: ${best.memory}`, best.seconds, { producers: best.producers }),
    row(
      `fewest producers for ${GOOD} x of it`,
      Math.min(...good.filter((p) => p.producers === smallest).map((p) => p.seconds)),
      {
        producers: smallest,
      },
    ),
    row('autotuned', seconds, {
      producers,
      'last change after s': median(tuned.map(({ changes }) => (changes.at(-1)?.atMs ?? 0) / 1000)),
    }),
  ];
  const checks = [
    atLeast(`${name}: autotuned, of the grid's best`, best.seconds / seconds, GOOD, 'x'),
    atMost(`${name}: producers beyond the fewest that do as well`, producers - smallest, 2, ''),
  ];
  return { rows, checks };
}
