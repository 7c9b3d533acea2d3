import * as tf from '@tensorflow/tfjs-core';
import { buildModel, useWasm } from '../examples/mnist/model.js';
import { alternate, medianMs, ratio, type Setups } from './lib/alternate.js';
import { atLeast, atMost, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { withScratch } from './lib/scratch.js';
import { arraysByHand, byLoader, tensorsByHand, type Epoch, type Example } from './tfjs/datasets.js';
import { makeImages, type Images } from './tfjs/images.js';

const ARRAYS = 'tf.data.generator over readFile: arrays';
const TENSORS = 'the same with a tensor for each sample';
const OURS = 'toTfDataset(loader), in order';

const EPOCHS: Readonly<Record<string, Epoch>> = {
  [ARRAYS]: arraysByHand,
  [TENSORS]: tensorsByHand,
  [OURS]: byLoader(false),
  'toTfDataset(loader), all samples shuffled': byLoader(true),
};

/** What is done with an epoch. */
interface Work {
  readonly name: string;
  readonly images: Images;
  readonly rounds: number;
  readonly use: Parameters<Epoch>[1];
  /** How many times as fast as arrays, and as tensors for each sample, the loader has to be. */
  readonly aims: readonly [arrays: number, tensors: number];
}

const bench: Bench = {
  summary:
    'an epoch of TF.js (wasm) by a loader, against tf.data.generator over readFile with batch and prefetch: alone, and training LeNet',
  run: (options) => withScratch((scratch) => run(scratch, options)),
};

export default bench;

async function run(scratch: string, options: BenchOptions): Promise<{ rows: Row[]; checks: Check[] }> {
  await useWasm();
  const { quick, progress } = options;
  progress('making the data');
  const digits = await makeImages(scratch, '28 x 28', quick ? 1024 : 16_384, 28 * 28);
  const colours = await makeImages(scratch, '64 x 64 x 3', quick ? 256 : 2048, 64 * 64 * 3);
  const fewer = await makeImages(scratch, '28 x 28, fewer', quick ? 256 : 2048, 28 * 28);
  const rounds = quick ? 1 : 7;
  const model = buildModel('lenet', 1);
  const parts = [
    // TF.js takes some 0.1 us to look at a number. Besides, a small sample costs the loader 15 to 20 us, as
    // much as a tensor of its own costs TF.js.
    await measure({ name: 'alone', images: digits, rounds, use: goThrough, aims: [4, 0.8] }, progress),
    await measure({ name: 'alone', images: colours, rounds, use: goThrough, aims: [10, 1] }, progress),
    // Nearly all of the time is the model's: 3 ms a sample.
    await measure(
      { name: 'LeNet', images: fewer, rounds, use: (dataset) => trainOn(model, dataset), aims: [1, 0.95] },
      progress,
    ),
  ];
  model.dispose();
  for (const { samples } of [digits, colours, fewer]) await samples.hierarchy.close();
  return { rows: parts.flatMap(({ rows }) => rows), checks: parts.flatMap(({ checks }) => checks) };
}

async function goThrough(dataset: Parameters<Work['use']>[0]): Promise<void> {
  await dataset.forEachAsync(() => undefined);
}

function trainOn(model: ReturnType<typeof buildModel>, dataset: Parameters<Work['use']>[0]) {
  const trainer: { fitDataset(dataset: unknown, options: object): Promise<unknown> } = model;
  return trainer.fitDataset(dataset, { epochs: 1, verbose: 0 });
}

async function measure(
  { name, images, rounds, use, aims: [arrays, tensors] }: Work,
  progress: BenchOptions['progress'],
): Promise<{ rows: Row[]; checks: Check[] }> {
  const what = `${name}, ${images.count.toLocaleString('en')} images of ${images.name}`;
  const left = new Map<string, number>();
  const setups: Setups = Object.fromEntries(
    Object.entries(EPOCHS).map(([setup, epoch]) => [
      setup,
      async () => {
        const { numTensors } = tf.memory();
        let samples = 0;
        await epoch(images, (dataset) =>
          use(dataset.map((example) => counted(example, (n) => (samples += n)))),
        );
        if (samples !== images.count) throw new Error(`${samples} of ${images.count} images came`);
        // Of the last round: in the first one, the optimizer makes its own.
        left.set(setup, tf.memory().numTensors - numTensors);
      },
    ]),
  );
  const timings = await alternate(setups, rounds, (round) =>
    progress(`${what}: round ${round} of ${rounds}`),
  );
  const rows = Object.keys(setups).map((setup): Row => {
    const seconds = medianMs(timings, setup) / 1000;
    return {
      what,
      setup,
      'seconds an epoch': seconds,
      'samples/s': Math.round(images.count / seconds),
      'x arrays': ratio(timings, setup, ARRAYS),
      'tensors left': left.get(setup) ?? Number.NaN,
    };
  });
  const checks = [
    atLeast(`${what}: ${OURS} against arrays`, ratio(timings, OURS, ARRAYS), arrays, 'x'),
    atLeast(`${what}: ${OURS} against tensors by hand`, ratio(timings, OURS, TENSORS), tensors, 'x'),
    atMost(`${what}: tensors left by ${OURS}`, left.get(OURS) ?? Number.NaN, 0, 'tensors'),
  ];
  return { rows, checks };
}

function counted(example: Example, count: (samples: number) => void): Example {
  count(example.xs.shape[0] ?? 0);
  return example;
}
