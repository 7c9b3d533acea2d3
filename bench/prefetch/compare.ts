import path from 'node:path';
import { alternate, median, medianMs, ratio, type Setups } from '../lib/alternate.js';
import { atLeast, type BenchOptions, type Check, type Row } from '../lib/bench.js';
import { CReader } from '../lib/c-reader.js';
import type { RoundProcess } from '../lib/round-process.js';
import { startNodeLoop } from '../rivals/node-loop.js';
import {
  limited,
  prefetched,
  sequentialReadFile,
  tfjsPrefetch,
  workerPool,
  type Loop,
  type Work,
} from './loops.js';
import { openWork, secondsOf, type Dataset } from './work.js';
import { blocking, jittered, jitteredAndHedged, warmDisk, type Source } from './sources.js';

/** What is compared: some objects behind some source. */
export interface Comparison {
  readonly source: Source;
  readonly dataset: Dataset;
  /** Reads of its objects. */
  readonly count: number;
}

const CONCURRENCIES = [1, 4, 8, 16, 32, 64];
const OURS = 'prefetcher';
const OURS_IN_BATCHES = 'prefetcher, batches of 32';
/** More threads than cores gain nothing where calls do not block. */
const C_THREADS = 2;
const C_THREADS_BLOCKING = 64;
const NODE_THREADS = 64;

const hedged = (loop: string) => `${loop}, hedged reads`;

/** The prefetcher against what one writes by hand, in alternation. */
export async function compare(
  { source, dataset, count }: Comparison,
  scratch: string,
  { quick, progress }: BenchOptions,
): Promise<{ rows: Row[]; checks: Check[] }> {
  const name = `${source.name}, ${dataset.name}`;
  const work = await openWork(dataset, source, count);
  const { isDirectory: isDirect = false } = source;
  const isWarm = source === warmDisk;
  const C = `C, ${threadsOfC(source)} threads`;
  const processes = await startProcesses(work, source, scratch);
  const hedgedWork = source === jittered ? await openWork(dataset, jitteredAndHedged, count) : undefined;
  try {
    progress(`${name}: the best concurrency`);
    const best = await bestConcurrency(work, source, quick);
    const producers: number[] = [];
    const isSmall = dataset.size < 1e6;
    const { reader, manyThreads } = processes;
    const loops: Record<string, Loop> = {
      ...(isWarm && { 'one after the other': sequentialReadFile }),
      [`p-limit, best of a grid`]: limited(best, isDirect),
      ...(manyThreads && { [`p-limit, UV_THREADPOOL_SIZE=${NODE_THREADS}`]: () => manyThreads.round() }),
      ...(isWarm && { 'worker_threads by hand': workerPool(isSmall ? 16 : 1) }),
      'tfjs-data, mapAsync + prefetch': tfjsPrefetch(best, isDirect),
      [OURS]: prefetched({}, ({ changes }) => producers.push(changes.at(-1)?.producers ?? 0)),
      ...(isSmall && { [OURS_IN_BATCHES]: prefetched({ batch: 32 }) }),
      ...(hedgedWork && loopsWithHedges(hedgedWork, best, isSmall)),
      ...(reader && { [C]: () => reader.round() }),
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
    const byHand = Object.keys(loops).filter((loop) => loop !== C && !/^prefetcher|hedged/.test(loop));
    const fasterOf = (a: string, b: string) => (medianMs(timings, a) <= medianMs(timings, b) ? a : b);
    const fastest = byHand.reduce(fasterOf);
    const rows = Object.keys(loops).map((loop): Row => ({
      source: source.name,
      objects: dataset.name,
      loop: loop.endsWith('grid') ? `${loop}: ${best}` : loop,
      'MB/s': bytes / 1e3 / medianMs(timings, loop),
      'objects/s': Math.round((count / medianMs(timings, loop)) * 1000),
      'x fastest by hand': ratio(timings, loop, fastest),
      'x bound': boundMs === 0 ? [] : boundMs / medianMs(timings, loop),
      producers: loop === OURS ? median(producers) : [],
    }));
    const ours = isSmall ? fasterOf(OURS, OURS_IN_BATCHES) : OURS;
    const checks =
      boundMs > 0
        ? [atLeast(`${name}: of the source's bound`, boundMs / medianMs(timings, ours), 0.95, 'x')]
        : [atLeast(`${name}: against ${fastest}`, ratio(timings, ours, fastest), 1, 'x')];
    if (hedgedWork) {
      const oursHedged = isSmall ? fasterOf(hedged(OURS), hedged(OURS_IN_BATCHES)) : hedged(OURS);
      const what = `${name}: with hedged reads, against ${fastest}`;
      checks.push(atLeast(what, ratio(timings, oursHedged, fastest), 1, 'x'));
    }
    if (reader)
      checks.push(atLeast(`${name}: of C`, ratio(timings, ours, C), isWarm && isSmall ? 0.6 : 0.9, 'x'));
    return { rows, checks };
  } finally {
    for (const one of Object.values(processes)) await one?.close();
    await work.hierarchy.close();
    await hedgedWork?.hierarchy.close();
  }
}

/**
 * The prefetcher on the same source with hedged reads; and p-limit, as hedged reads are not for prefetchers
 * alone.
 */
function loopsWithHedges(work: Work, concurrency: number, isSmall: boolean): Record<string, Loop> {
  const on = (loop: Loop) => () => loop(work);
  return {
    [hedged('p-limit, best of a grid')]: on(limited(concurrency, false)),
    [hedged(OURS)]: on(prefetched()),
    ...(isSmall && { [hedged(OURS_IN_BATCHES)]: on(prefetched({ batch: 32 })) }),
  };
}

function threadsOfC(source: Source): number {
  return source === blocking ? C_THREADS_BLOCKING : C_THREADS;
}

/** What reads a directory in a process of its own, which the drivers of the other sources cannot. */
async function startProcesses(
  work: Work,
  source: Source,
  scratch: string,
): Promise<{ reader?: RoundProcess | undefined; manyThreads?: RoundProcess }> {
  if (source.isDirectory !== true) return {};
  const reader = await startC(work, threadsOfC(source), scratch);
  // Without calls that block, Node's four threads are more than enough.
  if (source !== blocking) return { reader };
  return {
    reader,
    manyThreads: await startNodeLoop({ loop: 'p-limit', threads: NODE_THREADS }, work, scratch),
  };
}

async function startC(
  { directory, keys, size }: Work,
  threads: number,
  scratch: string,
): Promise<RoundProcess | undefined> {
  if (!CReader.available) {
    process.stderr.write('skipped: the reader in C; install a compiler: apt-get install gcc libc6-dev\n');
    return undefined;
  }
  const paths = keys.map((key) => path.join(directory, key));
  const slots = size < 1e6 ? 64 / threads : 2;
  return CReader.start({ directory: scratch, paths, bytes: size, threads, slots });
}

async function bestConcurrency(work: Work, source: Source, quick: boolean): Promise<number> {
  let best = { concurrency: 1, seconds: Infinity };
  for (const concurrency of quick ? [16] : source === warmDisk ? CONCURRENCIES : CONCURRENCIES.slice(1)) {
    const seconds = await secondsOf(() => limited(concurrency, source.isDirectory === true)(work));
    if (seconds < best.seconds) best = { concurrency, seconds };
  }
  return best.concurrency;
}
