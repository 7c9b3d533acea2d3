import { type StorageDriver } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { native } from '@tiered/native';
import path from 'node:path';
import { SlowMount } from '../tools/fuse/slow-mount.js';
import { measureLoop } from './blocking/loop.js';
import { alternate, median, medianMs, ratio, type Setups, type Timings } from './lib/alternate.js';
import { atLeast, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { CReader } from './lib/c-reader.js';
import type { RoundProcess } from './lib/round-process.js';
import { withScratch } from './lib/scratch.js';
import { limited, prefetched, type Work } from './prefetch/loops.js';
import { makeFiles, openWork, type Dataset } from './prefetch/work.js';
import { startNodeLoop } from './rivals/node-loop.js';

const BYTES = 100_000;
const CONCURRENCY = 64;
/** The most that C is given; more threads than that gain it nothing here. */
const C_THREADS = [2, 16, 64];
const OURS = 'prefetcher';
const WITHOUT_NATIVE = 'prefetcher, nativeThreads: 0';
const C = cWith(64);

/** What reads are answered by. */
interface Storage {
  readonly name: string;
  readonly openMs: number;
  readonly readMs: number;
  readonly jitterMs: number;
}

const STORAGES: readonly Storage[] = [
  { name: '5 ms an open, 5 ms a read', openMs: 5, readMs: 5, jitterMs: 0 },
  { name: '1 to 20 ms a call', openMs: 1, readMs: 1, jitterMs: 19 },
];

const bench: Bench = {
  summary:
    'files of 100 KB from a file system whose calls block (FUSE), against C with as many threads and promises on Node’s own; and how long each call of a hierarchy keeps the event loop',
  run: (options) =>
    withScratch(async (scratch) => {
      const rows: Row[] = [];
      const checks: Check[] = [];
      await measureLoop(scratch, options, rows, checks);
      const missing = await SlowMount.missing();
      if (missing !== undefined) return { rows: [...rows, { source: `skipped: ${missing}` }], checks };
      options.progress('making the data');
      const files = await makeFiles(path.join(scratch, 'files'), '100 KB', options.quick ? 300 : 1500, BYTES);
      for (const storage of STORAGES) await measure(storage, files, scratch, options, rows, checks);
      return { rows, checks };
    }),
};

export default bench;

async function measure(
  storage: Storage,
  files: Dataset,
  scratch: string,
  { quick, progress }: BenchOptions,
  rows: Row[],
  checks: Check[],
): Promise<void> {
  const { name } = storage;
  await using mount = await SlowMount.start(files.directory, storage);
  const behind = { ...files, directory: mount.directory };
  const work = await openWork(behind, sourceOf(name, 128));
  const withoutNative = await openWork(behind, sourceOf(name, 0));
  const readers = await startReaders(work, scratch);
  const manyThreads = await startNodeLoop({ loop: 'p-limit', threads: CONCURRENCY }, work, scratch);
  const producers: number[] = [];
  const requests: number[] = [];
  const setups: Setups = {
    ...Object.fromEntries(readers.map(({ threads, reader }) => [cWith(threads), () => reader.round()])),
    [`p-limit ${CONCURRENCY}, Node's 4 threads`]: () => limited(CONCURRENCY, true)(work),
    [`p-limit ${CONCURRENCY}, UV_THREADPOOL_SIZE=${CONCURRENCY}`]: () => manyThreads.round(),
    [WITHOUT_NATIVE]: () => prefetched()(withoutNative),
    [OURS]: async () => {
      mount.reset();
      await prefetched({}, ({ changes }) => producers.push(changes.at(-1)?.producers ?? 0))(work);
      const { open, read, getattr } = mount.counts();
      requests.push((open + read + getattr) / work.keys.length);
    },
  };
  const rounds = quick ? 1 : 5;
  const timings = await alternate(setups, rounds, (round) =>
    progress(`${name}: round ${round} of ${rounds}`),
  );
  for (const { reader } of readers) await reader.close();
  await manyThreads.close();
  await work.hierarchy.close();
  await withoutNative.hierarchy.close();
  addRows({ name, timings, producers, requests, count: work.keys.length }, rows);
  if (readers.length > 0 && native().available)
    checks.push(atLeast(`${name}: of C with 64 threads`, ratio(timings, OURS, C), 0.9, 'x'));
}

/** What was measured of one kind of storage. */
interface Measured {
  readonly name: string;
  readonly timings: Timings;
  readonly producers: readonly number[];
  readonly requests: readonly number[];
  readonly count: number;
}

function addRows({ name, timings, producers, requests, count }: Measured, rows: Row[]): void {
  for (const setup of timings.keys()) {
    const ms = medianMs(timings, setup);
    rows.push({
      source: name,
      setup,
      seconds: ms / 1000,
      'files/s': Math.round((count / ms) * 1000),
      [`of ${C}`]: timings.has(C) ? ratio(timings, setup, C) : [],
      producers: setup === OURS ? median(producers) : [],
      'requests a file': setup === OURS ? median(requests) : [],
    });
  }
}

function cWith(threads: number): string {
  return `C, ${threads} threads`;
}

function sourceOf(name: string, nativeThreads: number) {
  const open = (root: string): StorageDriver => new FileSystemDriver({ root, nativeThreads });
  return { name, open };
}

async function startReaders(work: Work, scratch: string) {
  const readers: { threads: number; reader: RoundProcess }[] = [];
  if (!CReader.available) {
    process.stderr.write('skipped: the reader in C; install a compiler: apt-get install gcc libc6-dev\n');
    return readers;
  }
  const paths = work.keys.map((key) => path.join(work.directory, key));
  for (const threads of C_THREADS) {
    const reader = await CReader.start({ directory: scratch, paths, bytes: BYTES, threads, slots: 2 });
    readers.push({ threads, reader });
  }
  return readers;
}
