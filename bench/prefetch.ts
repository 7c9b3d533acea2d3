import path from 'node:path';
import type { Bench, BenchOptions, Check, Row } from './lib/bench.js';
import { withScratch } from './lib/scratch.js';
import { hasSlowMounts } from './lib/slow-mounts.js';
import { compare, type Comparison } from './prefetch/compare.js';
import { manyConsumers, stalls, threeEpochs } from './prefetch/consuming.js';
import { againstGrid } from './prefetch/grid.js';
import {
  blocking,
  jittered,
  jitteredAndHedged,
  mountBlocking,
  throttled,
  warmDisk,
} from './prefetch/sources.js';
import { againstPrisma } from './prefetch/prisma.js';
import { manyProcesses } from './prefetch/processes.js';
import { makeFiles, type Dataset } from './prefetch/work.js';

const MIB = 1024 * 1024;

/** A part of the bench. */
interface Part {
  readonly rows: Row[];
  readonly checks: Check[];
}

const bench: Bench = {
  summary:
    'the prefetcher against loops written by hand, its autotuner against a grid of settings, many consumers and processes, and three epochs from a slow source',
  run: (options) => withScratch((scratch) => run(scratch, options)),
};

export default bench;

async function run(scratch: string, options: BenchOptions): Promise<Part & { chart: () => Promise<string> }> {
  const { quick, progress } = options;
  progress('making the data');
  const small = await makeFiles(path.join(scratch, 'small'), '100 KB', quick ? 200 : 6000, 100_000);
  const shards = await makeFiles(path.join(scratch, 'shards'), '16 MiB', quick ? 4 : 32, 16 * MIB);
  const of = (source: Comparison['source'], dataset: Comparison['dataset'], count: number): Comparison => ({
    source,
    dataset,
    count: quick ? dataset.count : count,
  });
  const parts: Part[] = [];
  for (const comparison of [
    of(warmDisk, small, 36_000),
    of(warmDisk, shards, 128),
    of(throttled, small, 3000),
    of(throttled, shards, 32),
    of(jittered, small, 12_000),
    of(jittered, shards, 128),
  ])
    parts.push(await compare(comparison, scratch, options));
  if (await hasSlowMounts('the source whose calls block'))
    parts.push(await compareBlocking(small, scratch, options));
  for (const comparison of [
    of(throttled, small, 6000),
    of(jittered, small, 12_000),
    of(jitteredAndHedged, small, 12_000),
    of(warmDisk, small, 36_000),
  ])
    parts.push(await againstGrid(comparison, options));
  const { consumers, ...prisma } = await againstPrisma(of(throttled, small, 6000), options);
  parts.push(prisma);
  parts.push(await stalls(of(throttled, small, 1500), options));
  parts.push(await manyConsumers(of(warmDisk, small, 36_000), options));
  parts.push(await manyProcesses(of(warmDisk, small, 18_000), options));
  parts.push(await threeEpochs(small, options));
  return {
    rows: tableOf(parts),
    checks: parts.flatMap(({ checks }) => checks),
    // Not loaded before: what is in the heap makes each garbage collection longer.
    chart: async () => (await import('./prefetch/chart.js')).renderChart(consumers),
  };
}

async function compareBlocking(files: Dataset, scratch: string, options: BenchOptions): Promise<Part> {
  await using mount = await mountBlocking(files.directory);
  const dataset = { ...files, directory: mount.directory };
  const count = options.quick ? files.count : 1000;
  return await compare({ source: blocking, dataset, count }, scratch, options);
}

/** One table of all parts: a column that a part does not have is empty. */
function tableOf(parts: readonly Part[]): Row[] {
  const rows = parts.flatMap((part) => part.rows);
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return rows.map((row) => Object.fromEntries(columns.map((column) => [column, row[column] ?? []])));
}
