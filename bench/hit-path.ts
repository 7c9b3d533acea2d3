import { Hierarchy, MemoryDriver, Random, systemClock, type FetchModel } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { fetchModelOf, type CalibrationProfile } from '@tiered/simulator/calibration';
import { PlacementHandler } from '@tiered/tiering';
import fs from 'node:fs';
import path from 'node:path';
import { alternate, medianMs, ratio, type Setups, type Timings } from './lib/alternate.js';
import { withScratch } from './lib/scratch.js';
import { atLeast, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { quotaOnDisk } from './lib/on-disk.js';

const KIB = 1024;
const MIB = 1024 * KIB;

/** Objects of one size, read in pieces of another. */
interface Case {
  readonly name: string;
  readonly objects: number;
  readonly size: number;
  readonly piece: number;
  readonly reads: number;
  readonly concurrency: number;
  /** Whether every object may stay open, or has to be opened for most reads. */
  readonly staysOpen: boolean;
}

interface Read {
  readonly key: string;
  readonly offset: number;
}

/** As a calibration of a tier in memory and a slow source comes out. */
const PROFILE: CalibrationProfile = {
  version: 1,
  objectBytes: 4 * KIB,
  source: { name: 'pfs', read: curveTo(150) },
  tiers: [{ name: 'ram', read: curveTo(10_000) }],
};

function curveTo(rate: number): CalibrationProfile['source']['read'] {
  return { points: [1, 2, 4, 8, 16, 32].map((reads) => [reads, (rate * reads) / 32]) };
}

function cases(quick: boolean): Case[] {
  const scale = quick ? 4 : 1;
  const small = { size: 100_000, piece: 100_000, reads: 2000 / scale };
  const large = { size: 16 * MIB, piece: 256 * KIB, objects: 8, reads: 2000 / scale, staysOpen: true };
  return [1, 8].flatMap((concurrency) => [
    {
      ...small,
      name: `100 KB objects, ${concurrency} at a time`,
      objects: 200,
      concurrency,
      staysOpen: true,
    },
    {
      ...small,
      name: `100 KB objects, more than stay open, ${concurrency} at a time`,
      objects: 2000,
      concurrency,
      staysOpen: false,
    },
    { ...large, name: `256 KiB of 16 MiB objects, ${concurrency} at a time`, concurrency },
  ]);
}

const bench: Bench = {
  summary: 'reads that a tier serves, against the same reads by fs.promises and by a bare Map',
  run: (options) =>
    withScratch(async (directory) => {
      const rows: Row[] = [];
      const checks: Check[] = [];
      for (const which of cases(options.quick)) await measureDisk(which, directory, options, rows, checks);
      await measureMemory(options, rows, checks);
      return { rows, checks };
    }),
};

export default bench;

async function measureDisk(
  which: Case,
  directory: string,
  options: BenchOptions,
  rows: Row[],
  checks: Check[],
): Promise<void> {
  const { name, objects, size, piece, reads, concurrency, staysOpen } = which;
  const keys = Array.from({ length: objects }, (_, i) => `class-${i % 10}/${i}`);
  const source = new MemoryDriver();
  const bytes = Buffer.alloc(size, 'tiered');
  for (const key of keys) await source.write(key, bytes, { size });
  const root = path.join(directory, name.replaceAll(' ', '-'));
  const hierarchy = await startOnDisk(source, root, quotaOnDisk(objects * size, objects));
  for (const key of keys) await hierarchy.place(key);
  // The source's memory is of no use from here on, and would only trouble the garbage collector.
  for (const key of keys) await source.delete(key, {});

  const random = new Random(1);
  const order: Read[] = Array.from({ length: reads }, () => ({
    key: keys[random.below(objects)] ?? '',
    offset: random.below(size / piece) * piece,
  }));
  const run = (read: (r: Read) => Promise<unknown>) => () => forAll(order, concurrency, read);
  const files = await filesOf(root);
  const handles = staysOpen ? await openAll(files) : new Map<string, fs.promises.FileHandle>();
  let turnIn = 0;
  const setups: Setups = {
    'fs.promises open + read + close': run((r) => openReadClose(files.get(r.key) ?? '', r.offset, piece)),
    ...(staysOpen && {
      'fs.promises read on an open handle': run((r) => readHandle(handles.get(r.key), r.offset, piece)),
      'fs.readSync on an open descriptor (bound of one thread)': run(async (r) => {
        fs.readSync(handles.get(r.key)?.fd ?? -1, Buffer.allocUnsafeSlow(piece), 0, piece, r.offset);
        // Without a turn now and then memory would only be collected after the time that is measured.
        turnIn = (turnIn + 1) % 32;
        if (turnIn === 0) await systemClock.turn();
      }),
    }),
    'Hierarchy.read from a disk tier': run((r) => hierarchy.read(r.key, { offset: r.offset, length: piece })),
  };
  const rounds = options.quick ? 3 : 11;
  const timings = await alternate(setups, rounds, (round) =>
    options.progress(`${name}: round ${round} of ${rounds}`),
  );
  const stats = hierarchy.stats();
  if (stats.tiers[0]?.reads !== reads * (rounds + 1))
    throw new Error('not every read was served by the tier');
  await hierarchy.close();
  for (const handle of handles.values()) await handle.close();

  const ours = 'Hierarchy.read from a disk tier';
  addRows(rows, name, timings, reads, 'fs.promises open + read + close');
  checks.push(
    atLeast(
      `disk tier against open + read + close: ${name}`,
      ratio(timings, ours, 'fs.promises open + read + close'),
      1,
      'x',
    ),
  );
  if (!staysOpen) return;
  checks.push(
    atLeast(
      `disk tier against an open handle: ${name}`,
      ratio(timings, ours, 'fs.promises read on an open handle'),
      0.9,
      'x',
    ),
  );
}

async function measureMemory(options: BenchOptions, rows: Row[], checks: Check[]): Promise<void> {
  const objects = 1000;
  const size = 4 * KIB;
  const reads = options.quick ? 100_000 : 500_000;
  const bare = new Map(
    Array.from({ length: objects }, (_, i) => [`class-${i % 10}/${i}`, new Uint8Array(size)]),
  );
  const keys = [...bare.keys()];
  const source = new MemoryDriver();
  for (const [key, bytes] of bare) await source.write(key, bytes, { size });
  const startWith = async (model?: FetchModel) => {
    const tiers = [{ driver: new MemoryDriver(), quota: objects * size }];
    const placement = new PlacementHandler();
    const hierarchy = new Hierarchy({ source, tiers, placement, ...(model && { model }) });
    await hierarchy.open();
    for (const key of keys) await hierarchy.place(key);
    return hierarchy;
  };
  const hierarchy = await startWith();
  const asking = await startWith(fetchModelOf(PROFILE));
  const random = new Random(1);
  const order = Array.from({ length: 4096 }, () => keys[random.below(objects)] ?? '');
  const setups: Setups = {
    'bare Map, awaited': async () => {
      for (let i = 0; i < reads; i++)
        await Promise.resolve(bare.get(order[i & 4095] ?? '')?.subarray(0, size));
    },
    'Hierarchy.read from a RAM tier': async () => {
      for (let i = 0; i < reads; i++) await hierarchy.read(order[i & 4095] ?? '');
    },
    'the same, with a calibrated model': async () => {
      for (let i = 0; i < reads; i++) await asking.read(order[i & 4095] ?? '');
    },
  };
  const name = '4 KiB objects in memory, views without copying';
  const rounds = options.quick ? 3 : 11;
  const timings = await alternate(setups, rounds, (round) =>
    options.progress(`${name}: round ${round} of ${rounds}`),
  );
  await hierarchy.close();
  await asking.close();
  addRows(rows, name, timings, reads, 'bare Map, awaited');
  const perSecond = (reads / medianMs(timings, 'Hierarchy.read from a RAM tier')) * 1000;
  checks.push(atLeast('RAM tier, 4 KiB views', perSecond, 500_000, 'reads/s'));
}

function addRows(rows: Row[], name: string, timings: Timings, reads: number, baseline: string): void {
  for (const setup of timings.keys()) {
    const microseconds = (medianMs(timings, setup) / reads) * 1000;
    rows.push({
      reads: name,
      setup,
      'us a read': microseconds,
      [`times as fast`]: ratio(timings, setup, baseline),
    });
  }
}

function startOnDisk(source: MemoryDriver, root: string, quota: number): Promise<Hierarchy> {
  const tiers = [{ driver: new FileSystemDriver({ root, writable: true }), quota }];
  return new Hierarchy({ source, tiers, placement: new PlacementHandler() }).open();
}

/** Where the copies are, by their keys: their names have a tag behind that. */
async function filesOf(root: string): Promise<Map<string, string>> {
  const names = await fs.promises.readdir(root, { recursive: true });
  const copies = names.filter((name) => name.includes('@'));
  return new Map(copies.map((name) => [name.slice(0, name.indexOf('@')), path.join(root, name)]));
}

async function openAll(files: ReadonlyMap<string, string>): Promise<Map<string, fs.promises.FileHandle>> {
  const handles = new Map<string, fs.promises.FileHandle>();
  for (const [key, file] of files) handles.set(key, await fs.promises.open(file));
  return handles;
}

async function openReadClose(file: string, offset: number, length: number): Promise<void> {
  const handle = await fs.promises.open(file);
  await readHandle(handle, offset, length);
  await handle.close();
}

async function readHandle(
  handle: fs.promises.FileHandle | undefined,
  offset: number,
  length: number,
): Promise<void> {
  await handle?.read(Buffer.allocUnsafeSlow(length), 0, length, offset);
}

/** Makes all reads, so many at a time, and lets go of what each gave: keeping it would measure the memory. */
async function forAll(
  order: readonly Read[],
  concurrency: number,
  read: (r: Read) => Promise<unknown>,
): Promise<void> {
  const remaining = order.values();
  const worker = async () => {
    for (const one of remaining) await read(one);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
