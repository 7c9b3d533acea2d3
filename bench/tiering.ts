import type { Bench } from './lib/bench.js';
import { withScratch } from './lib/scratch.js';
import { casesOf, makeDatasets } from './tiering/cases.js';
import { checksOf, rowsOf } from './tiering/figures.js';
import { runPrefetched } from './tiering/prefetched.js';
import { runRounds } from './tiering/rounds.js';

/**
 * MONARCH's experiment: see `tiering/setups.ts` for what is compared, `tiering/figures.ts` for what is
 * promised, and `tiering/prefetched.ts` for the same through a `Prefetcher`.
 */
const bench: Bench = {
  summary:
    'epochs from a source of 1 ms an operation and 150 MB/s, against the same through tiers and from the local disk ' +
    '(files in the page cache; x local only is against blocking reads in worker threads)',
  run: ({ quick, progress }) =>
    withScratch(async (scratch) => {
      progress('making the data');
      const datasets = await makeDatasets(scratch, quick);
      const cases = casesOf(datasets);
      const seen = await runRounds({ cases, rounds: quick ? 1 : 3, scratch, progress });
      const prefetched = await runPrefetched(datasets, scratch, { quick, progress });
      return {
        rows: [...seen.flatMap(rowsOf), ...prefetched.rows],
        checks: [...seen.flatMap(checksOf), ...prefetched.checks],
        // Not loaded before: what is in the heap makes each garbage collection longer, and would count as
        // reading.
        chart: async () => (await import('./tiering/chart.js')).renderChart(seen),
      };
    }),
};

export default bench;
