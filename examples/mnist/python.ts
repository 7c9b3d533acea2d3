import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Interposer } from '@tiered/interpose';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import type { Dataset } from './dataset.js';
import { DemoError } from './errors.js';
import { megabytes, percent, seconds } from './format.js';
import { PIXELS, readMnist } from './mnist.js';
import { Progress } from './progress.js';
import { onDisk, SHARE } from './setups.js';
import { openSource } from './source.js';
import type { Source } from './store.js';

const EPOCHS = 3;
const SHARDS = 50;
/** A digit in a file: what it is, and its pixels. */
const RECORD = 1 + PIXELS;
/** Memory that the daemon keeps beside the tiers: so little that a run without tiers has the source alone. */
const SPOOL = '4MiB';
const SCRIPT = fileURLToPath(new URL('train.py', import.meta.url));
const INSTALL = 'bash tools/servers/install.sh frameworks, or pip install torch numpy; PYTHON names another';
const run = promisify(execFile);

/** An epoch, as the script reports it. */
interface PythonEpoch {
  readonly seconds: number;
  readonly waited: number;
  readonly accuracy: number;
  /** Fingerprint of the order of all files so far. */
  readonly order: string;
}

/** A training, and the bytes that the source gave it. */
interface PythonRun {
  readonly epochs: readonly PythonEpoch[];
  readonly sourceBytes: number;
}

/** Options of the demo with Python. */
export interface PythonDemo {
  readonly samples: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/**
 * Runs a script of PyTorch that knows nothing of tiers: on the local disk, with a slow source alone, and with
 * tiers between. The source takes three times as long for an epoch as the script computes on this machine.
 * @returns Whether all runs read the same files in the same order.
 * @throws DemoError if there is no Python with PyTorch, or the script fails.
 */
export async function pythonDemo({ samples, seed, signal, say }: PythonDemo): Promise<boolean> {
  if (process.platform !== 'linux')
    throw new DemoError('--python needs Linux: no shim can be loaded elsewhere.');
  const python = await findPython();
  // What is loaded into the script.
  await import('../../packages/interpose/src-c/build.js');
  const scratch = await mkdtemp(path.join(os.tmpdir(), 'tiered-demo-'));
  const trainOn: TrainOn = (root, env) =>
    train(python, [SCRIPT, root, `${seed}`, `${EPOCHS}`], env, signal, (epoch) => say(epochLine(epoch)));
  try {
    const dataset = await writeShards(path.join(scratch, 'shards'), samples, signal);
    say(`${samples.toLocaleString('en')} MNIST digits in ${SHARDS} files, ${megabytes(dataset.bytes)} MB.`);
    say(`\n${python} train.py on the local disk: the bound`);
    const local = await trainOn(dataset.directory, process.env);
    const epochSeconds = Math.min(...local.map((epoch) => epoch.seconds));
    const source = await openSource({ kind: 'embedded' }, dataset, epochSeconds, new Progress(), signal);
    const slow = { source, scratch, trainOn, signal };
    try {
      say(`\nthe same on ${source.about}`);
      const alone = await onSource(slow, 'source', onDisk(0));
      say(`\nthe same with a disk tier for ${percent(SHARE)} of the data`);
      const tiered = await onSource(slow, 'tiered', onDisk(SHARE * dataset.bytes));
      say(`\n${takeaway(alone, tiered)}`);
      return new Set([local, alone.epochs, tiered.epochs].map(orderOf)).size === 1;
    } finally {
      await source.close();
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Runs the script on the files below a path. */
type TrainOn = (root: string, env: NodeJS.ProcessEnv) => Promise<PythonEpoch[]>;

/** A slow source, and the training on it. */
interface Slow {
  readonly source: Source;
  readonly scratch: string;
  readonly trainOn: TrainOn;
  readonly signal: AbortSignal;
}

/** Trains on the objects of the source, which programs find as files. */
async function onSource(slow: Slow, name: string, quota: number): Promise<PythonRun> {
  const { source, scratch, trainOn, signal } = slow;
  const tiers = [{ driver: new FileSystemDriver({ root: path.join(scratch, name), writable: true }), quota }];
  const hierarchy = { source: source.connect(), tiers, placement: new PlacementHandler() };
  const root = path.join(scratch, `${name}-root`);
  await using interposer = await Interposer.open({ hierarchy, root, spool: SPOOL, signal });
  const epochs = await trainOn(root, interposer.environment());
  return { epochs, sourceBytes: interposer.stats().hierarchy.source.readBytes };
}

/** Writes the digits as files that NumPy reads as they are. */
async function writeShards(directory: string, samples: number, signal: AbortSignal): Promise<Dataset> {
  const digits = await readMnist('train', signal);
  await mkdir(directory);
  const each = samples / SHARDS;
  const files: Record<string, number> = {};
  for (let shard = 0; shard < SHARDS; shard++) {
    const data = Buffer.alloc(each * RECORD);
    for (let i = 0; i < each; i++) {
      const digit = shard * each + i;
      data[i * RECORD] = digits.label(digit);
      data.set(digits.image(digit), i * RECORD + 1);
    }
    const name = `${String(shard).padStart(2, '0')}.bin`;
    await writeFile(path.join(directory, name), data);
    files[name] = data.byteLength;
  }
  return { directory, files, shards: SHARDS, samples, bytes: samples * RECORD };
}

/** The first Python that has PyTorch. */
async function findPython(): Promise<string> {
  const named = process.env['PYTHON'];
  for (const python of named === undefined ? ['python3', '/usr/bin/python3'] : [named])
    if (
      await run(python, ['-c', 'import numpy, torch']).then(
        () => true,
        () => false,
      )
    )
      return python;
  throw new DemoError(`There is no Python with PyTorch: ${INSTALL}.`);
}

async function train(
  python: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  onEpoch: (epoch: PythonEpoch) => void,
): Promise<PythonEpoch[]> {
  const child = spawn(python, args, { env, stdio: ['ignore', 'pipe', 'inherit'], signal });
  const ended = once(child, 'close') as Promise<[number | null]>;
  const epochs: PythonEpoch[] = [];
  for await (const text of readline.createInterface(child.stdout)) {
    const epoch = JSON.parse(text) as PythonEpoch;
    onEpoch(epoch);
    epochs.push(epoch);
  }
  const [code] = await ended;
  if (code !== 0) throw new DemoError(`${python} ${args.join(' ')} ended with ${code ?? 'a signal'}.`);
  return epochs;
}

function epochLine({ seconds: took, waited, accuracy }: PythonEpoch): string {
  return `  an epoch of ${seconds(took)} s, waiting for data ${percent(waited / took)} of it; accuracy ${percent(accuracy)}`;
}

function takeaway(alone: PythonRun, tiered: PythonRun): string {
  const [before, took] = [totalOf(alone), totalOf(tiered)];
  return (
    `The script, as it is, took ${seconds(took)} s with the tier, and ${seconds(before)} s without: ` +
    `${(before / took).toFixed(1)} x as fast, with ${percent(tiered.sourceBytes / alone.sourceBytes)} of the bytes from the source.`
  );
}

function totalOf({ epochs }: PythonRun): number {
  return epochs.reduce((sum, epoch) => sum + epoch.seconds, 0);
}

/** The files that were read, in their order. */
function orderOf(epochs: readonly PythonEpoch[]): string {
  return epochs.map(({ order }) => order).join();
}
