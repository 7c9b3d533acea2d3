import { Hierarchy, Random } from '@tiered/core';
import { openSamples, type SampleFormat, type SampleSet } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { tfrecord } from '@tiered/formats/tfrecord';
import { webdataset, type WebdatasetSample } from '@tiered/formats/webdataset';
import { DataLoader } from '@tiered/loader';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import fs from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { alternate, medianMs, ratio } from './lib/alternate.js';
import { atLeast, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { withScratch } from './lib/scratch.js';
import type { RoundProcess } from './lib/round-process.js';
import { atTheSource } from './loader/at-the-source.js';
import { INSTALL, isThere, RIVALS, startRival, type Rival } from './loader/python.js';
import { writeShards, type Case } from './loader/shards.js';

const BATCH = 256;
/** Epochs of a round: a training begins once, and then goes on. */
const EPOCHS = 4;
/** Processes of Python loaders: as many as there are cores. */
const WORKERS = 2;
/** Bytes that a bounded shuffle mixes, here and in the buffers of others. */
const WINDOW = 16 * 2 ** 20;

function cases(quick: boolean): Case[] {
  const bytes = quick ? 8e6 : 256e6;
  return [1000, 10_000, 100_000].map((size) => ({
    bytes: size,
    samples: Math.max(16, 16 * Math.floor(bytes / size / 16)),
  }));
}

const bench: Bench = {
  summary: 'samples in shards (page cache): DataLoader against a plain loop, tf.data, PyTorch and webdataset',
  run: (options) =>
    withScratch(async (scratch) => {
      const rows: Row[] = [];
      const checks: Check[] = [];
      for (const which of cases(options.quick)) {
        const directory = path.join(scratch, String(which.bytes));
        await writeShards(which, directory);
        await measure(which, directory, options, rows, checks);
        await rm(directory, { recursive: true });
      }
      const limited = await atTheSource(scratch, options);
      return { rows: [...rows, ...limited.rows], checks: [...checks, ...limited.checks] };
    }),
};

export default bench;

async function measure(
  which: Case,
  directory: string,
  { quick, progress }: BenchOptions,
  rows: Row[],
  checks: Check[],
): Promise<void> {
  const { bytes, samples } = which;
  const { setups, close } = await ownSetups(which, directory);
  const rivals: { readonly rival: Rival; readonly process: RoundProcess }[] = [];
  for (const rival of RIVALS) {
    if (!(await isThere(rival))) {
      const setup = `${rival.name}: not here (${INSTALL})`;
      rows.push({ 'bytes of a sample': bytes, setup, 'samples/s': '', 'x plain loop': '' });
      continue;
    }
    const buffer = Math.ceil(WINDOW / bytes);
    const process = await startRival(rival, { ...which, directory, batch: BATCH, buffer, workers: WORKERS });
    rivals.push({ rival, process });
    setups[nameOf(rival)] = async () => {
      for (let epoch = 0; epoch < EPOCHS; epoch++) await process.round();
    };
  }
  const timings = await alternate(setups, quick ? 1 : 5, (round) =>
    progress(`${bytes} bytes: round ${round}`),
  );
  for (const setup of timings.keys())
    rows.push({
      'bytes of a sample': bytes,
      setup,
      'samples/s': ((EPOCHS * samples) / medianMs(timings, setup)) * 1000,
      'x plain loop': ratio(timings, setup, PLAIN),
    });
  for (const { rival } of rivals) {
    const own = OWN[rival.kind];
    checks.push(
      atLeast(`${bytes} bytes: ${own} against ${rival.name}`, ratio(timings, own, nameOf(rival)), 1, 'x'),
    );
  }
  for (const { process } of rivals) await process.close();
  await close();
}

function nameOf({ name, format }: Rival): string {
  return `${name}, ${format}`;
}

const PLAIN = 'plain loop, raw, all shuffled';

/** What is compared with whom: the same files, and the same kind of shuffle. */
const OWN = {
  torch: 'tiered, raw, all shuffled',
  tf: 'tiered, TFRecord, in windows',
  wds: 'tiered, tar, in windows',
} as const;

async function ownSetups({ bytes, samples }: Case, directory: string) {
  const raw = await open(path.join(directory, 'raw'), rawRecords({ recordBytes: bytes }));
  const records = await open(path.join(directory, 'tfrecord'), tfrecord());
  const tar = await open(path.join(directory, 'tar'), webdataset());
  const total = bytes * samples;
  const window = { window: WINDOW };
  const tarBytes = ({ parts }: WebdatasetSample) => parts.get('bin')?.byteLength ?? 0;
  const length = ({ byteLength }: Uint8Array) => byteLength;
  const setups: Record<string, () => Promise<void>> = {
    [PLAIN]: async () => {
      for (let epoch = 0; epoch < EPOCHS; epoch++) await plainLoop(raw, epoch, total);
    },
    [OWN.torch]: () => epochs(raw, true, length, total),
    'tiered, raw, in windows': () => epochs(raw, window, length, total),
    [OWN.tf]: () => epochs(records, window, length, total),
    [OWN.wds]: () => epochs(tar, window, tarBytes, total),
  };
  const close = async () => {
    for (const set of [raw, records, tar]) await set.hierarchy.close();
  };
  return { setups, close };
}

async function open<S>(root: string, format: SampleFormat<S>): Promise<SampleSet<S>> {
  const hierarchy = await new Hierarchy({ source: new FileSystemDriver({ root }) }).open();
  return openSamples(hierarchy, { format });
}

/** All epochs; the bytes are counted, and nothing is copied. */
async function epochs<S>(
  samples: SampleSet<S>,
  shuffle: boolean | { readonly window: number },
  lengthOf: (sample: S) => number,
  total: number,
): Promise<void> {
  await using loader = new DataLoader(samples, {
    batchSize: BATCH,
    shuffle,
    seed: 1,
    epochs: EPOCHS,
  });
  let read = 0;
  for await (const { data } of loader) for (const sample of data) read += lengthOf(sample);
  if (read !== EPOCHS * total) throw new Error(`${read} of ${EPOCHS * total} bytes were read`);
}

/** What a person writes first: a shuffled list of numbers, and a blocking read for each. */
async function plainLoop(samples: SampleSet<Uint8Array>, epoch: number, total: number): Promise<void> {
  const { driver } = samples.hierarchy.stats().source;
  const root = driver.replace(/^fs:/, '');
  const files = samples.keys.map((key) => fs.openSync(path.join(root, key), 'r'));
  const order = new Random(1, epoch).permutation(samples.samples);
  let read = 0;
  for (const sample of order) {
    const { object, offset, length } = samples.placeOf(sample);
    read += fs.readSync(files[object] ?? -1, new Uint8Array(length), 0, length, offset);
  }
  for (const fd of files) fs.closeSync(fd);
  await Promise.resolve();
  if (read !== total) throw new Error(`${read} of ${total} bytes were read`);
}
