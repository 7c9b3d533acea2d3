import { Random } from '@tiered/core';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { SlowMount } from '../tools/fuse/slow-mount.js';
import { alternate, median, medianMs, ratio, type Timings } from './lib/alternate.js';
import { atLeast, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { withScratch } from './lib/scratch.js';
import { hasSlowMounts } from './lib/slow-mounts.js';
import { makeFiles, type Dataset } from './prefetch/work.js';
import { fillCacache, findCacache } from './rivals/cacache.js';
import {
  allRivals,
  C_THREADS,
  nameOfC,
  OURS,
  OURS_IN_BATCHES,
  type Files,
  type Rival,
} from './rivals/rivals.js';

const BYTES = 100_000;
const OPEN_MS = 5;
const READ_MS = 5;
const SEED = 1;

/** What is read, and how often. */
interface Case {
  readonly source: string;
  readonly files: Files;
  readonly rounds: number;
  /** What the files are behind, where calls can be counted. */
  readonly mount?: SlowMount;
}

/** A rival and what was seen of it beside its times. */
interface Seen {
  readonly rival: Rival;
  /** Opens and reads that reached the mount, for each file, by round. */
  readonly calls: number[];
}

const bench: Bench = {
  summary:
    'an epoch in random order over files of 100 KB, by C, Node, PyTorch, TensorFlow and the prefetcher, each in a process of its own: ' +
    'from the page cache, and from a file system whose calls block (FUSE)',
  run: (options) =>
    withScratch(async (scratch) => {
      const { quick, progress } = options;
      progress('making the data');
      const dataset = await makeFiles(
        path.join(scratch, 'data', 'files'),
        '100 KB',
        quick ? 200 : 3000,
        BYTES,
      );
      const cacache = findCacache();
      if (cacache !== undefined) await fillCacache(cacache, dataset.directory, keysOf(dataset), BYTES);
      const rivals = allRivals(cacache);
      const warm = { source: 'warm files', files: shuffled(dataset), rounds: quick ? 1 : 7 };
      const parts = [await measure(warm, rivals, scratch, options)];
      if (await hasSlowMounts('the slow file system'))
        parts.push(await measureSlow(dataset, rivals, scratch, options));
      return { rows: parts.flatMap(({ rows }) => rows), checks: parts.flatMap(({ checks }) => checks) };
    }),
};

export default bench;

async function measureSlow(
  dataset: Dataset,
  rivals: readonly Rival[],
  scratch: string,
  options: BenchOptions,
) {
  const { quick } = options;
  // With cacache's copies beside the files.
  const data = path.join(dataset.directory, '..');
  await using mount = await SlowMount.start(data, { openMs: OPEN_MS, readMs: READ_MS });
  const directory = path.join(mount.directory, path.basename(dataset.directory));
  const files = shuffled({ ...dataset, directory, count: quick ? 200 : 1000 });
  const source = `${OPEN_MS} ms an open, ${READ_MS} ms a read`;
  return await measure({ source, files, rounds: quick ? 1 : 3, mount }, rivals, scratch, options);
}

async function measure(
  { source, files, rounds, mount }: Case,
  rivals: readonly Rival[],
  scratch: string,
  { progress }: BenchOptions,
): Promise<{ rows: Row[]; checks: Check[] }> {
  const own = path.join(scratch, source);
  await mkdir(own);
  const closing: (() => Promise<void>)[] = [];
  const setups: Record<string, () => Promise<void>> = {};
  const seen = rivals.map((rival): Seen => ({ rival, calls: [] }));
  try {
    for (const { rival, calls } of seen) {
      if (rival.install !== undefined) continue;
      progress(`${source}: starting ${rival.name}`);
      const running = await rival.start(files, own);
      closing.push(() => running.close());
      setups[rival.name] = async () => {
        mount?.reset();
        await running.round();
        const { open, read } = mount?.counts() ?? { open: 0, read: 0 };
        calls.push((open + read) / files.keys.length);
      };
    }
    const timings = await alternate(setups, rounds, (round) =>
      progress(`${source}: round ${round} of ${rounds}`),
    );
    const rows = seen.map((one) => rowOf(source, one, timings, files.keys.length, mount !== undefined));
    return { rows, checks: [checkOf(source, timings)] };
  } finally {
    for (const close of closing) await close();
  }
}

/** All of one table: a rival that is not installed has a row, which says how to install it. */
function rowOf(
  source: string,
  { rival, calls }: Seen,
  timings: Timings,
  files: number,
  isCounted: boolean,
): Row {
  const { name, install } = rival;
  const is = timings.has(name);
  const c = fastest(timings, C_THREADS.map(nameOfC));
  return {
    source,
    reader: name,
    'files/s': is ? (files / medianMs(timings, name)) * 1000 : [],
    'of the fastest C': is && c !== undefined ? ratio(timings, name, c) : [],
    [`of the ${OURS}`]: is ? ratio(timings, name, OURS) : [],
    'opens and reads a file': is && isCounted ? median(calls) : [],
    note: install === undefined ? '' : `not installed: ${install}`,
  };
}

/** The prefetcher against the fastest of those that load data for training. */
function checkOf(source: string, timings: Timings): Check {
  const ours = fastest(timings, [OURS, OURS_IN_BATCHES]) ?? OURS;
  const notLoaders = [OURS, OURS_IN_BATCHES, ...C_THREADS.map(nameOfC)];
  const others = [...timings.keys()].filter((name) => !notLoaders.includes(name));
  const rival = fastest(timings, others) ?? OURS;
  return atLeast(`${source}: ${ours} against ${rival}`, ratio(timings, ours, rival), 1, 'x');
}

function fastest(timings: Timings, names: readonly string[]): string | undefined {
  const [first, ...others] = names.filter((name) => timings.has(name));
  if (first === undefined) return undefined;
  return others.reduce((a, b) => (medianMs(timings, a) <= medianMs(timings, b) ? a : b), first);
}

function shuffled({ directory, count, size }: Dataset): Files {
  const keys = Array.from(new Random(SEED).permutation(count), String);
  return { directory, keys, size };
}

function keysOf({ count }: Dataset): string[] {
  return Array.from({ length: count }, (_, i) => `${i}`);
}
