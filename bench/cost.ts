import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { SlowMount } from '../tools/fuse/slow-mount.js';
import type { Cost } from './cost/cost-of.js';
import { compileFloor, type Floor } from './cost/floor.js';
import type { Keeping, Loop, SubjectCosts, SubjectTask } from './cost/subject.js';
import { atMost, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { runInChild } from './lib/child.js';
import { hasCompiler } from './lib/compile.js';
import { withScratch } from './lib/scratch.js';
import { hasSlowMounts } from './lib/slow-mounts.js';

/** A slow source, as in the table of what limits the first epoch. */
const SLOW = { openMs: 1, readMs: 1, bytesPerSecond: 150e6 };
const ON_SLOW = 'FUSE, 1 + 1 ms, 150 MB/s';
const WARM = 'warm files';
/** Threads of C: as many as a slow source needs to be busy, and as many as this kind of machine has cores. */
const THREADS = { [ON_SLOW]: 64, [WARM]: 2 } as const;

/** Aims, in microseconds of processor time beyond C's, an object of 100 KB. */
const AIMS: Readonly<Partial<Record<Keeping, number>>> = { read: 60, ram: 60, packed: 100, files: 150 };
/** Aim: a hit costs at most so many times what C's read does. */
const HIT = 1.5;

/** Files of one size in a directory. */
interface Data {
  readonly name: typeof ON_SLOW | typeof WARM;
  readonly directory: string;
  readonly bytes: number;
  readonly warm: readonly string[];
  readonly keys: readonly string[];
}

const bench: Bench = {
  summary:
    'processor time of an object: read, placed, read again, as a sample; beside C, which does the same',
  run: (options) =>
    withScratch(async (scratch) => {
      const rows: Row[] = [];
      const checks: Check[] = [];
      const floor = hasCompiler() ? await compileFloor(scratch) : undefined;
      const [small, middle, large] = [
        await makeData(scratch, 1000, options),
        await makeData(scratch, 10_000, options),
        await makeData(scratch, 100_000, options),
      ];
      await measureKeeping(large, floor, scratch, options, rows, checks);
      if (await hasSlowMounts('a slow source')) {
        await using mount = await SlowMount.start(large.directory, SLOW);
        const slow = { ...large, name: ON_SLOW, directory: mount.directory } as const;
        await measureKeeping(slow, floor, scratch, options, rows, checks);
      }
      for (const data of [small, middle, large]) await measureLoops(data, scratch, options, rows);
      return { rows, checks };
    }),
};

export default bench;

async function makeData(scratch: string, bytes: number, { quick, progress }: BenchOptions): Promise<Data> {
  const count = (quick ? 400 : 6000) / 2;
  const directory = path.join(scratch, `files-${bytes}`);
  const keys = Array.from({ length: 2 * count }, (_, i) => String(i));
  progress(`making ${keys.length} files of ${bytes} bytes`);
  await mkdir(directory, { recursive: true });
  const content = Buffer.alloc(bytes, 'tiered');
  for (const key of keys) await writeFile(path.join(directory, key), content);
  return { name: WARM, directory, bytes, warm: keys.slice(0, count), keys: keys.slice(count) };
}

/** Objects that are read, and kept or not, by calls of `readInto`. */
async function measureKeeping(
  data: Data,
  floor: Floor | undefined,
  scratch: string,
  { progress }: BenchOptions,
  rows: Row[],
  checks: Check[],
): Promise<void> {
  const pathsOf = (keys: readonly string[]) => keys.map((key) => path.join(data.directory, key));
  let read: Cost | undefined;
  for (const keeping of ['read', 'ram', 'files', 'packed'] as const) {
    progress(`${data.name}: ${keeping}`);
    const work = { what: keeping, threads: THREADS[data.name], bytes: data.bytes };
    const c = await floor?.({ ...work, warm: pathsOf(data.warm), paths: pathsOf(data.keys) });
    const { first, again } = await measure(data, scratch, keeping, 'readInto');
    if (c !== undefined) rows.push(rowOf(data, NAMES[keeping], 'C', c));
    rows.push(rowOf(data, NAMES[keeping], 'tiered', first));
    if (keeping !== 'read') rows.push(rowOf(data, `${NAMES[keeping]}: hit`, 'tiered', again));
    read ??= c;
    if (c === undefined || read === undefined) continue;
    const beyond = cpu(first) - cpu(c);
    checks.push(
      atMost(`${data.name}: ${NAMES[keeping]}, beyond C`, beyond, AIMS[keeping] ?? Number.NaN, 'us'),
    );
    if (keeping !== 'read' && data.name === WARM)
      checks.push(atMost(`${NAMES[keeping]}: hit, against a read of C`, cpu(again) / cpu(read), HIT, 'x'));
  }
}

/** Objects that are samples of a training, from warm files. */
async function measureLoops(
  data: Data,
  scratch: string,
  { progress }: BenchOptions,
  rows: Row[],
): Promise<void> {
  const keys = [...data.warm, ...data.keys];
  for (const loop of ['readInto', 'Prefetcher', 'DataLoader', 'DataLoader, 1 worker'] as const) {
    progress(`${data.bytes} bytes: ${loop}`);
    const { again } = await measure({ ...data, warm: keys, keys }, scratch, 'read', loop);
    rows.push(rowOf(data, `sample of ${data.bytes} bytes`, loop, again));
  }
}

const NAMES: Readonly<Record<Keeping, string>> = {
  read: 'read',
  ram: 'read, and kept in RAM',
  files: 'read, and kept in files',
  packed: 'read, and kept packed',
};

async function measure(data: Data, scratch: string, keeping: Keeping, loop: Loop): Promise<SubjectCosts> {
  const { directory: source, bytes, warm, keys } = data;
  const tier = await mkdtemp(path.join(scratch, 'tier-'));
  const task: SubjectTask = { source, bytes, keeping, loop, tier, warm, keys };
  const costs = await runInChild<SubjectCosts>(new URL('cost/subject.ts', import.meta.url), task);
  await rm(tier, { recursive: true });
  return costs;
}

function cpu({ user, system }: Cost): number {
  return user + system;
}

function rowOf({ name }: Data, what: string, who: string, cost: Cost): Row {
  const { user, system, wall, main = Number.NaN, gc = Number.NaN, heapBytes = Number.NaN } = cost;
  return {
    source: name,
    'an object': what,
    by: who,
    'us user': user,
    'us system': system,
    'us main thread': main,
    'us GC': gc,
    'KB of heap': heapBytes / 1000,
    'us passed': wall,
  };
}
