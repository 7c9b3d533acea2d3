import { ThreadLoader, type Stacked } from '@tiered/loader';
import path from 'node:path';
import { FROM_SOURCES } from '../packages/loader/test/from-sources.js';
import { SlowMount } from '../tools/fuse/slow-mount.js';
import { alternate, median } from './lib/alternate.js';
import { atLeast, atMost, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { withScratch } from './lib/scratch.js';
import { hasSlowMounts } from './lib/slow-mounts.js';
import { makeFiles } from './prefetch/work.js';
import { startServer } from './s3/data.js';
import { BATCH, makeLoader, SAMPLE_BYTES, type Place } from './thread-loader/make.js';

/** Milliseconds that a step of the training computes, without a turn of the event loop. */
const STEP_MS = 100;
const MAIN = 'DataLoader';
const THREAD = 'ThreadLoader';

/** Where the samples of a case come from, and what is expected there. */
interface Source {
  readonly name: string;
  readonly place: Place;
  readonly aims: { readonly gain: number; readonly waited: number };
}

const bench: Bench = {
  summary:
    'batches of 32 samples of 100 KB for steps that block the event loop for 100 ms: a loader in this thread and in one of its own',
  run: (options) => withScratch((scratch) => run(scratch, options)),
};

export default bench;

async function run(scratch: string, options: BenchOptions): Promise<{ rows: Row[]; checks: Check[] }> {
  const { quick, progress } = options;
  const rows: Row[] = [];
  const checks: Check[] = [];
  const batches = quick ? 5 : 50;
  const of = (source: Source) => measure(source, batches, options, rows, checks);
  progress('making the data');
  const { directory } = await makeFiles(path.join(scratch, 'files'), ' ', batches * BATCH, SAMPLE_BYTES);
  const bucket = 'samples';
  const buckets = [{ bucket, keys: batches * BATCH, bytes: SAMPLE_BYTES }];
  {
    await using server = await startServer({ buckets, latencyMs: 20 });
    const { endpoint, region, credentials } = server;
    const place: Place = { kind: 's3', bucket, endpoint, region, credentials };
    await of({ name: 'S3, 20 ms', place, aims: { gain: 1, waited: 5 } });
  }
  await of({
    name: 'files in the page cache',
    place: { kind: 'files', root: directory },
    aims: { gain: 0.97, waited: 5 },
  });
  if (await hasSlowMounts('files whose calls block')) {
    await using mount = await SlowMount.start(directory, { openMs: 5, readMs: 5 });
    const place: Place = { kind: 'files', root: mount.directory };
    await of({ name: 'FUSE, 5 ms a call', place, aims: { gain: 1, waited: 5 } });
  }
  return { rows, checks };
}

/** One epoch of a training. */
interface Trained {
  readonly ms: number;
  /** Of these, the ones in which no step computed. */
  readonly waitedMs: number;
}

async function measure(
  { name, place, aims }: Source,
  batches: number,
  { quick, progress }: BenchOptions,
  rows: Row[],
  checks: Check[],
): Promise<void> {
  const trained: Record<string, Trained[]> = { [MAIN]: [], [THREAD]: [] };
  const setups = {
    [MAIN]: async () => {
      const { loader, close } = await makeLoader(place);
      trained[MAIN]?.push(await train(loader, batches));
      await close();
    },
    [THREAD]: async () => {
      const module = new URL('thread-loader/make.ts', import.meta.url);
      const options = { argument: place, execArgv: FROM_SOURCES };
      const loader = await ThreadLoader.open<Stacked>({ module, export: 'makeLoader' }, options);
      trained[THREAD]?.push(await train(loader, batches));
    },
  };
  await alternate(setups, quick ? 1 : 3, (round) => progress(`${name}: round ${round}`));
  // The first round does not count.
  const of = (setup: string) => (trained[setup] ?? []).slice(1);
  const msOf = (setup: string) => median(of(setup).map(({ ms }) => ms));
  const waitedOf = (setup: string) => median(of(setup).map(({ ms, waitedMs }) => (100 * waitedMs) / ms));
  for (const setup of [MAIN, THREAD])
    rows.push({
      source: name,
      loader: setup,
      'ms a step': msOf(setup) / batches,
      'waited, %': waitedOf(setup),
      'x DataLoader': median(of(setup).map(({ ms }, i) => (of(MAIN)[i]?.ms ?? Number.NaN) / ms)),
    });
  const gain = median(of(THREAD).map(({ ms }, i) => (of(MAIN)[i]?.ms ?? Number.NaN) / ms));
  checks.push(atLeast(`${name}: ${THREAD}, times as fast as ${MAIN}`, gain, aims.gain, 'x'));
  checks.push(atMost(`${name}: a training with ${THREAD} waits`, waitedOf(THREAD), aims.waited, '%'));
}

/** Takes all batches, and computes for each. The time before the first one is not counted. */
async function train(loader: AsyncIterable<{ readonly data: Stacked }>, batches: number): Promise<Trained> {
  let begun: number | undefined;
  let [steps, waitedMs] = [0, 0];
  let asked = performance.now();
  for await (const { data } of loader) {
    const now = performance.now();
    if (begun === undefined) begun = now;
    else waitedMs += now - asked;
    if (data.data.length !== BATCH * SAMPLE_BYTES) throw new Error(`a batch has ${data.data.length} bytes`);
    while (performance.now() < now + STEP_MS);
    steps += 1;
    asked = performance.now();
  }
  if (steps !== batches) throw new Error(`${steps} of ${batches} batches came`);
  return { ms: asked - (begun ?? asked), waitedMs };
}
