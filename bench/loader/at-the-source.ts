import { Hierarchy } from '@tiered/core';
import { openSamples, type SampleFormat, type SampleSet } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { tfrecord } from '@tiered/formats/tfrecord';
import { DataLoader } from '@tiered/loader';
import path from 'node:path';
import { median } from '../lib/alternate.js';
import { atMost, type BenchOptions, type Check, type Row } from '../lib/bench.js';
import { makeFiles } from '../prefetch/work.js';
import { throttled } from '../prefetch/sources.js';
import { writeShards } from './shards.js';

/** How the samples are read, and from where. */
interface Case {
  readonly name: string;
  readonly directory: string;
  readonly format: SampleFormat<Uint8Array>;
  readonly shuffle: true | { readonly window: number };
}

/**
 * A source that gives 150 MB/s, each read after 5 ms: an epoch takes at least its bytes at that rate, whoever
 * reads it. The first epoch has the start of the loader in it, whose producers are tuned there.
 */
export async function atTheSource(
  scratch: string,
  options: BenchOptions,
): Promise<{ rows: Row[]; checks: Check[] }> {
  const { quick, progress } = options;
  progress('making the data');
  const files = path.join(scratch, 'files');
  await makeFiles(files, ' ', quick ? 200 : 6000, 100_000);
  const shards = path.join(scratch, 'shards');
  await writeShards({ bytes: 10_000, samples: quick ? 1600 : 40_000 }, shards);
  const window = { window: 16 * 2 ** 20 };
  const cases: Case[] = [
    {
      name: 'objects of 100 KB, all shuffled',
      directory: files,
      format: rawRecords({ recordBytes: 100_000 }),
      shuffle: true,
    },
    {
      name: 'TFRecord, 10 KB, in windows',
      directory: path.join(shards, 'tfrecord'),
      format: tfrecord(),
      shuffle: window,
    },
  ];
  const rows: Row[] = [];
  const checks: Check[] = [];
  for (const which of cases) {
    const epochs = quick ? 2 : 6;
    progress(`${throttled.name}: ${which.name}`);
    const [first = Number.NaN, ...others] = await timesOverBound(which, epochs);
    rows.push({
      [`source: ${throttled.name}`]: which.name,
      'first epoch, x bound': first,
      'others, x bound': others,
    });
    checks.push(
      atMost(
        `${throttled.name}: ${which.name}: an epoch, of the least it can take`,
        median(others),
        1.05,
        'x',
      ),
    );
  }
  return { rows, checks };
}

/** How many times the least each epoch took. */
async function timesOverBound({ directory, format, shuffle }: Case, epochs: number): Promise<number[]> {
  await using hierarchy = await new Hierarchy({ source: throttled.open(directory) }).open();
  const samples: SampleSet<Uint8Array> = await openSamples(hierarchy, { format });
  await using loader = new DataLoader(samples, { batchSize: 64, shuffle, epochs });
  const times: number[] = [];
  let begun = performance.now();
  for (let epoch = 0; epoch < epochs; epoch++) {
    let bytes = 0;
    for await (const { data } of loader.epoch()) for (const sample of data) bytes += sample.byteLength;
    const now = performance.now();
    const least = throttled.bound?.(samples.records, bytes, Number.POSITIVE_INFINITY) ?? Number.NaN;
    times.push((now - begun) / 1000 / least);
    begun = now;
  }
  return times;
}
