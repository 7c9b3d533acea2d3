import { failureOf, IoThreads, native } from '@tiered/native';
import type { ReadRequest } from '@tiered/core/driver';
import { mkdir, realpath, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { SlowMount } from '../tools/fuse/slow-mount.js';
import { alternate, medianMs, ratio, type Setups } from './lib/alternate.js';
import { atLeast, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { CReader } from './lib/c-reader.js';
import type { RoundProcess } from './lib/round-process.js';
import { withScratch } from './lib/scratch.js';

const BYTES = 100_000;
/**
 * Batches under way at the same time, as those of the staging buffer; on slow storage, as many as keep all
 * threads busy.
 */
const UNDER_WAY = 3;

/** The same files, warm or behind a slow mount. */
interface Case {
  readonly name: string;
  readonly files: number;
  readonly threads: readonly number[];
  readonly batch: number;
  readonly rounds: number;
  /** The aim, as a part of what C reads with as many threads. */
  readonly aim: number;
}

const bench: Bench = {
  summary:
    'files of 100 KB by native threads into shared memory, against a program in C with as many threads',
  run: (options) =>
    withScratch(async (scratch) => {
      const rows: Row[] = [];
      const checks: Check[] = [];
      const state = native();
      if (!state.available) return { rows: [{ files: `skipped: ${state.reason}` }], checks };
      const { quick } = options;
      const root = await realpath(scratch);
      await makeFiles(path.join(root, 'files'), quick ? 500 : 3000);
      const warm = { name: 'in memory', files: quick ? 500 : 3000, threads: [1, 2, 4], batch: 16, aim: 0.8 };
      const rounds = quick ? 3 : 15;
      await measure({ ...warm, rounds }, path.join(root, 'files'), root, options, rows, checks);
      await measureSlow(root, options, rows, checks);
      return { rows, checks };
    }),
};

export default bench;

async function measureSlow(root: string, options: BenchOptions, rows: Row[], checks: Check[]): Promise<void> {
  const name = '5 ms an open and a read';
  const missing = await SlowMount.missing();
  if (missing !== undefined) {
    rows.push({ files: name, setup: `skipped: ${missing}` });
    return;
  }
  await using mount = await SlowMount.start(path.join(root, 'files'), { openMs: 5, readMs: 5 });
  const files = options.quick ? 300 : 1500;
  const slow = { name, files, threads: [4, 64], batch: 64, aim: 0.9, rounds: options.quick ? 1 : 3 };
  await measure(slow, await realpath(mount.directory), root, options, rows, checks);
}

async function measure(
  which: Case,
  directory: string,
  scratch: string,
  options: BenchOptions,
  rows: Row[],
  checks: Check[],
): Promise<void> {
  const { name, files, threads, rounds, aim } = which;
  const keys = keysOf(files);
  const setups: Record<string, () => Promise<void>> = {};
  const closing: (() => Promise<void>)[] = [];
  for (const count of threads) {
    if (CReader.available) {
      const reader = await startReader(directory, path.join(scratch, `${name} ${count}`), keys, count);
      closing.push(() => reader.close());
      setups[`C, ${count}`] = () => reader.round();
    }
    const io = new IoThreads({ root: directory, threads: count });
    closing.push(() => io.close());
    setups[`native, ${count}`] = readAll(which, keys, io);
  }
  const timings = await alternate(setups satisfies Setups, rounds, (round) =>
    options.progress(`${name}: round ${round} of ${rounds}`),
  );
  for (const close of closing) await close();
  for (const setup of timings.keys()) {
    const share = ratio(timings, setup, setup.replace('native', 'C'));
    const perSecond = (files / medianMs(timings, setup)) * 1000;
    rows.push({ files: name, 'setup, threads': setup, 'files/s': perSecond, 'of C': share });
    if (setup.startsWith('native') && CReader.available)
      checks.push(atLeast(`${setup} threads, ${name}`, share, aim, 'of C'));
  }
}

function keysOf(files: number): string[] {
  return Array.from({ length: files }, (_, i) => `class-${i % 10}/${i}`);
}

async function makeFiles(root: string, files: number): Promise<void> {
  const content = Buffer.alloc(BYTES, 'tiered');
  for (let i = 0; i < 10; i++) await mkdir(path.join(root, `class-${i}`), { recursive: true });
  for (const key of keysOf(files)) await writeFile(path.join(root, key), content);
}

async function startReader(
  root: string,
  directory: string,
  keys: readonly string[],
  threads: number,
): Promise<RoundProcess> {
  await mkdir(directory);
  const paths = keys.map((key) => path.join(root, key));
  return CReader.start({
    directory,
    paths,
    bytes: BYTES,
    threads,
    slots: Math.max(1, Math.floor(32 / threads)),
  });
}

/** Reads every file once, into the same memory again and again. */
function readAll({ batch }: Case, keys: readonly string[], io: IoThreads): () => Promise<void> {
  const memory = new SharedArrayBuffer(UNDER_WAY * batch * BYTES);
  const lanes = Array.from({ length: UNDER_WAY }, (_, lane) =>
    Array.from({ length: batch }, (_, i) => new Uint8Array(memory, (lane * batch + i) * BYTES, BYTES)),
  );
  return async () => {
    let next = 0;
    const readLane = async (targets: readonly Uint8Array[]) => {
      while (next < keys.length) {
        const some = keys.slice(next, next + batch);
        next += some.length;
        const requests: ReadRequest[] = [];
        for (const [i, target] of targets.entries()) {
          const key = some[i];
          if (key !== undefined) requests.push({ key, offset: 0, target });
        }
        for (const outcome of (await io.readMany(requests)).outcomes)
          if (outcome !== BYTES) throw new Error(outcome < 0 ? failureOf(outcome) : 'a read was short');
      }
    };
    await Promise.all(lanes.map(readLane));
  };
}
