import { Hierarchy, type ReadOutcome } from '@tiered/core';
import type { ReadRequest } from '@tiered/core/driver';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { alternate, medianMs, ratio, type Setups } from './lib/alternate.js';
import { atLeast, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { CReader } from './lib/c-reader.js';
import type { RoundProcess } from './lib/round-process.js';
import { withScratch } from './lib/scratch.js';
import { measurePieces } from './read-many/pieces.js';

const MIB = 1024 * 1024;
const C = 'C, 2 threads';
/** Batches under way at the same time, as those of the staging buffer. */
const UNDER_WAY = 2;

/** Files of one size, read whole. */
interface Case {
  readonly name: string;
  readonly files: number;
  readonly bytes: number;
  /** Files of a batch. */
  readonly batch: number;
  /** The aim, as a part of what C reads. */
  readonly aim: number;
}

type ReadMany = (requests: readonly ReadRequest[]) => Promise<readonly ReadOutcome[]>;

function cases(quick: boolean): Case[] {
  const scale = quick ? 4 : 1;
  const small = { files: 3000 / scale, bytes: 100_000, aim: 0.6 };
  return [
    { ...small, name: '100 KB files in batches of 32', batch: 32 },
    { ...small, name: '100 KB files in batches of 16', batch: 16 },
    { name: '16 MiB shards in batches of 2', files: 24 / scale, bytes: 16 * MIB, batch: 2, aim: 0.9 },
  ];
}

const bench: Bench = {
  summary:
    'whole files in batches into shared memory, against a program in C, and pieces of one file (all in the page cache)',
  run: (options) =>
    withScratch(async (scratch) => {
      const rows: Row[] = [];
      const checks: Check[] = [];
      for (const which of cases(options.quick)) {
        const directory = path.join(scratch, which.name.replaceAll(' ', '-'));
        await measure(which, directory, options, rows, checks);
      }
      await measurePieces(scratch, options, rows, checks);
      return { rows, checks };
    }),
};

export default bench;

async function measure(
  which: Case,
  directory: string,
  options: BenchOptions,
  rows: Row[],
  checks: Check[],
): Promise<void> {
  const { name, files, bytes, aim } = which;
  options.progress(`${name}: making the data`);
  const keys = await makeFiles(path.join(directory, 'source'), which);
  const source = () => new FileSystemDriver({ root: path.join(directory, 'source') });
  const driver = source();
  await driver.open({});
  await using plain = await new Hierarchy({ source: source() }).open();
  await using tiered = await onTier(source(), path.join(directory, 'tier'), keys, files * bytes);
  const reader = CReader.available ? await startReader(which, directory, keys) : undefined;
  const setups: Setups = {
    ...(reader && { [C]: () => reader.round() }),
    'FileSystemDriver.readMany': readAll(which, keys, (requests) => driver.readMany(requests, {})),
    'Hierarchy.readMany from the source': readAll(which, keys, (requests) => plain.readMany(requests)),
    'Hierarchy.readMany from a tier': readAll(which, keys, (requests) => tiered.readMany(requests)),
  };
  const rounds = options.quick ? 3 : 31;
  const timings = await alternate(setups, rounds, (round) =>
    options.progress(`${name}: round ${round} of ${rounds}`),
  );
  await driver.close();
  await reader?.close();
  if (reader === undefined)
    rows.push(rowOf(name, `${C}: skipped, there is no compiler cc`, Number.NaN, which));
  for (const setup of timings.keys()) {
    const share = ratio(timings, setup, C);
    rows.push(rowOf(name, setup, medianMs(timings, setup), which, share));
    if (setup !== C && reader !== undefined) checks.push(atLeast(`${setup}: ${name}`, share, aim, 'of C'));
  }
}

function rowOf(name: string, setup: string, ms: number, { files, bytes }: Case, share = Number.NaN): Row {
  const [perSecond, rate] = [(files / ms) * 1000, ((files * bytes) / ms / MIB) * 1000];
  return { files: name, setup, 'files/s': perSecond, 'MiB/s': rate, 'of C': share };
}

async function makeFiles(root: string, { files, bytes }: Case): Promise<string[]> {
  const content = Buffer.alloc(bytes, 'tiered');
  const keys = Array.from({ length: files }, (_, i) => `class-${i % 10}/${i}`);
  for (let i = 0; i < 10; i++) await mkdir(path.join(root, `class-${i}`), { recursive: true });
  for (const key of keys) await writeFile(path.join(root, key), content);
  return keys;
}

function startReader(
  { bytes, batch }: Case,
  directory: string,
  keys: readonly string[],
): Promise<RoundProcess> {
  const paths = keys.map((key) => path.join(directory, 'source', key));
  return CReader.start({ directory, paths, bytes, threads: 2, slots: batch });
}

/** A hierarchy whose tier holds everything. */
async function onTier(
  source: FileSystemDriver,
  root: string,
  keys: readonly string[],
  quota: number,
): Promise<Hierarchy> {
  const tiers = [{ driver: new FileSystemDriver({ root, writable: true }), quota }];
  const hierarchy = await new Hierarchy({ source, tiers, placement: new PlacementHandler() }).open();
  await Promise.all(keys.map((key) => hierarchy.place(key)));
  return hierarchy;
}

/** Reads every file once, into the same memory again and again. */
function readAll({ bytes, batch }: Case, keys: readonly string[], readMany: ReadMany): () => Promise<void> {
  const memory = new SharedArrayBuffer(UNDER_WAY * batch * bytes);
  const lanes = Array.from({ length: UNDER_WAY }, (_, lane) =>
    Array.from({ length: batch }, (_, i) => new Uint8Array(memory, (lane * batch + i) * bytes, bytes)),
  );
  return async () => {
    const remaining = keys.values();
    const readLane = async (targets: readonly Uint8Array[]) => {
      for (;;) {
        const requests = [...requestsFor(targets, remaining)];
        if (requests.length === 0) return;
        for (const outcome of await readMany(requests)) {
          if ('error' in outcome) throw outcome.error;
          if (outcome.bytes !== bytes) throw new Error('a read was short');
        }
      }
    };
    await Promise.all(lanes.map(readLane));
  };
}

/** A request for each target, as long as there are keys. */
function* requestsFor(
  targets: readonly Uint8Array[],
  keys: Iterator<string, undefined>,
): Generator<ReadRequest> {
  for (const target of targets) {
    const next = keys.next();
    if (next.done === true) return;
    yield { key: next.value, offset: 0, target };
  }
}
