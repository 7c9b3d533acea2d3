import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { SlowMount } from '../tools/fuse/slow-mount.js';
import type { Cost } from './cost/cost-of.js';
import { compileFloor, type Floor } from './cost/floor.js';
import { LOOPS, type Loop } from './cost/loops.js';
import type { Keeping, SubjectCosts, SubjectTask } from './cost/subject.js';
import { atMost, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { runInChild } from './lib/child.js';
import { hasCompiler } from './lib/compile.js';
import { withScratch } from './lib/scratch.js';
import { hasSlowMounts } from './lib/slow-mounts.js';
import { keyOf, startServer } from './s3/data.js';

/** A slow source, as in the table of what limits the first epoch; and one that is only far away. */
const SLOW = { openMs: 1, readMs: 1, bytesPerSecond: 150e6 };
const ON_SLOW = 'FUSE, 1 + 1 ms, 150 MB/s';
const FAR = { openMs: 5, readMs: 5 };
const ON_FAR = 'FUSE, 5 + 5 ms';
const WARM = 'warm files';
const ON_S3 = 'S3 server';
/** Threads of C: as many as a slow source needs to be busy, and as many as this kind of machine has cores. */
const THREADS = { [ON_SLOW]: 64, [ON_FAR]: 64, [WARM]: 2 } as const;
/** Objects before the first epoch of a slow source, which do not count. */
const BEFORE_EPOCH = 200;

/** Aims, in microseconds of processor time beyond C's, an object of 100 KB. */
const AIMS: Readonly<Partial<Record<Keeping, number>>> = { read: 60, ram: 60, packed: 100, files: 150 };
/** Aim: a hit costs at most so many times what C's read does. */
const HIT = 1.5;

/**
 * Aims: a first epoch takes at most so many times as long as C takes to read the objects. A far source is
 * limited by nothing but what a machine does at the same time.
 */
const EPOCHS = {
  [ON_SLOW]: { ram: 1.05, packed: 1.05, files: 1.15 },
  [ON_FAR]: { ram: 1 / 0.8, packed: 1 / 0.8, files: 1 / 0.8 },
} as const;
/** Aim: copies of 10,000 bytes cost packed at most so many times as much as C's. */
const SMALL_PACKED = 1 / 0.8;

/** Objects of one size in a directory, or in a bucket. */
interface Data extends Pick<SubjectTask, 'source' | 'bytes' | 'warm' | 'keys'> {
  readonly name: keyof typeof THREADS | typeof ON_S3;
}

/** All parts of the bench write into one table. */
interface Table extends Pick<BenchOptions, 'progress'> {
  readonly scratch: string;
  readonly rows: Row[];
  readonly checks: Check[];
}

const bench: Bench = {
  summary:
    'processor time of an object: read, placed, read again, as a sample; beside C, which does the same',
  run: (options) =>
    withScratch(async (scratch) => {
      const { progress } = options;
      const table: Table = { scratch, progress, rows: [], checks: [] };
      const floor = hasCompiler() ? await compileFloor(scratch) : undefined;
      const [small, middle, large] = [
        await makeData(scratch, 1000, options),
        await makeData(scratch, 10_000, options),
        await makeData(scratch, 100_000, options),
      ];
      await measureKeeping(large, floor, table);
      if (await hasSlowMounts('a slow source')) {
        for (const [name, settings] of [[ON_SLOW, SLOW] as const, [ON_FAR, FAR] as const]) {
          await using mount = await SlowMount.start(large.source, settings);
          const slow = { ...large, name, source: mount.directory };
          if (name === ON_SLOW) await measureKeeping(slow, floor, table);
          await measureEpochs(slow, floor, table);
        }
      }
      await measureSmall(middle, floor, table);
      await measureS3(large, table);
      for (const data of [small, middle, large]) await measureLoops(data, table);
      return { rows: table.rows, checks: table.checks };
    }),
};

export default bench;

async function makeData(scratch: string, bytes: number, { quick, progress }: BenchOptions) {
  const count = (quick ? 390 : 9000) / 3;
  const directory = path.join(scratch, `files-${bytes}`);
  const keys = Array.from({ length: 3 * count }, (_, i) => String(i));
  progress(`making ${keys.length} files of ${bytes} bytes`);
  await mkdir(directory, { recursive: true });
  const content = Buffer.alloc(bytes, 'tiered');
  for (const key of keys) await writeFile(path.join(directory, key), content);
  // While V8 still compiles, an object costs half as much again.
  const [warm, rest] = [keys.slice(0, 2 * count), keys.slice(2 * count)];
  return { name: WARM, source: directory, bytes, warm, keys: rest } as const;
}

/** Objects that are read, and kept or not, by calls of `readInto`. */
async function measureKeeping(
  data: Data,
  floor: Floor | undefined,
  { scratch, progress, rows, checks }: Table,
): Promise<void> {
  let read: Cost | undefined;
  for (const keeping of ['read', 'ram', 'files', 'packed'] as const) {
    progress(`${data.name}: ${keeping}`);
    const c = await floor?.({ what: keeping, ...workOf(data) });
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

/** The first epoch of a training from a slow source, until all is kept. */
async function measureEpochs(
  data: Data & { readonly name: keyof typeof EPOCHS },
  floor: Floor | undefined,
  { scratch, progress, rows, checks }: Table,
): Promise<void> {
  const all = [...data.warm, ...data.keys];
  const epoch = { ...data, warm: all.slice(0, BEFORE_EPOCH), keys: all.slice(BEFORE_EPOCH) };
  progress(`${data.name}: epoch of C`);
  const c = await floor?.({ what: 'read', ...workOf(epoch) });
  if (c !== undefined) rows.push(rowOf(data, 'first epoch', 'C', c));
  for (const keeping of ['ram', 'packed', 'files'] as const) {
    progress(`${data.name}: epoch, ${keeping}`);
    const { first } = await measure(epoch, scratch, keeping, 'Prefetcher');
    rows.push(rowOf(data, `first epoch, ${KEPT[keeping]}`, 'Prefetcher', first));
    if (c === undefined) continue;
    const name = `${data.name}: first epoch, ${KEPT[keeping]}, against C`;
    checks.push(atMost(name, first.wall / c.wall, EPOCHS[data.name][keeping], 'x'));
  }
}

/** Small objects that are packed. */
async function measureSmall(
  data: Data,
  floor: Floor | undefined,
  { scratch, progress, rows, checks }: Table,
): Promise<void> {
  progress(`${data.bytes} bytes: packed`);
  const what = `${data.bytes} bytes, ${KEPT.packed}`;
  const c = await floor?.({ what: 'packed', ...workOf(data) });
  if (c !== undefined) rows.push(rowOf(data, what, 'C', c));
  const { first } = await measure(data, scratch, 'packed', 'readInto');
  rows.push(rowOf(data, what, 'tiered', first));
  if (c !== undefined) checks.push(atMost(`${what}, against C`, cpu(first) / cpu(c), SMALL_PACKED, 'x'));
}

/** The same objects from a server of S3, which is another process. C has no client of it. */
async function measureS3({ bytes, warm, keys }: Data, table: Table): Promise<void> {
  const [bucket, count] = ['objects', warm.length + keys.length];
  await using server = await startServer({ buckets: [{ bucket, keys: count, bytes }] });
  const { endpoint, region, credentials } = server;
  const all = Array.from({ length: count }, (_, i) => keyOf(i));
  const [first, rest] = [all.slice(0, warm.length), all.slice(warm.length)];
  const source = { bucket, endpoint, region, credentials };
  const data: Data = { name: ON_S3, source, bytes, warm: first, keys: rest };
  await measureKeeping(data, undefined, table);
}

/** What C is told of objects, and how many threads it has for them. */
function workOf({ name, source, bytes, warm, keys }: Data) {
  if (name === ON_S3 || typeof source !== 'string') throw new Error('C reads files only');
  const inDirectory = (some: readonly string[]) => some.map((key) => path.join(source, key));
  return { threads: THREADS[name], bytes, warm: inDirectory(warm), paths: inDirectory(keys) };
}

/** Objects that are samples of a training, from warm files. */
async function measureLoops(data: Data, { scratch, progress, rows }: Table): Promise<void> {
  const keys = [...data.warm, ...data.keys];
  for (const loop of LOOPS) {
    progress(`${data.bytes} bytes: ${loop}`);
    const { again } = await measure({ ...data, warm: keys, keys }, scratch, 'read', loop);
    rows.push(rowOf(data, `sample of ${data.bytes} bytes`, loop, again));
  }
}

const KEPT = { ram: 'kept in RAM', files: 'kept in files', packed: 'kept packed' } as const;

const NAMES: Readonly<Record<Keeping, string>> = {
  read: 'read',
  ram: `read, and ${KEPT.ram}`,
  files: `read, and ${KEPT.files}`,
  packed: `read, and ${KEPT.packed}`,
};

async function measure(data: Data, scratch: string, keeping: Keeping, loop: Loop): Promise<SubjectCosts> {
  const { source, bytes, warm, keys } = data;
  const tier = await mkdtemp(path.join(scratch, 'tier-'));
  const task: SubjectTask = { source, bytes, keeping, loop, tier, warm, keys };
  return runInChild<SubjectCosts>(new URL('cost/subject.ts', import.meta.url), task);
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
