import * as tf from '@tensorflow/tfjs-core';
import { generator, type Dataset } from '@tensorflow/tfjs-data';
import { DataLoader } from '@tiered/loader';
import { toTfDataset } from '@tiered/loader/tfjs';
import { readFile } from 'node:fs/promises';
import { CLASSES, decode, type Images } from './images.js';

const BATCH = 64;
const AHEAD = 2;

/** Images and their classes, as a training takes them. */
export interface Example {
  [name: string]: tf.Tensor;
  xs: tf.Tensor;
  ys: tf.Tensor;
}

/** One epoch of images in batches; does something with it. */
export type Epoch = (images: Images, use: (dataset: Dataset<Example>) => Promise<unknown>) => Promise<void>;

/** As one writes it: a shard at a time, and arrays of numbers, which TF.js makes tensors of. */
export const arraysByHand: Epoch = async (images, use) => {
  const dataset = generator(() => decoded(images))
    .batch(BATCH)
    .prefetch(AHEAD);
  await use(dataset as unknown as Dataset<Example>);
};

/** As one writes it who knows that TF.js looks at each number of an array: a tensor for each sample. */
export const tensorsByHand: Epoch = async (images, use) => {
  const samples = async function* () {
    for await (const { xs, ys } of decoded(images)) yield { xs: tf.tensor1d(xs), ys: tf.tensor1d(ys) };
  };
  await use(generator(samples).batch(BATCH).prefetch(AHEAD) as unknown as Dataset<Example>);
};

async function* decoded({ files, pixels, recordBytes }: Images) {
  for (const file of files) {
    const bytes = await readFile(file);
    for (let at = 0; at < bytes.length; at += recordBytes) {
      const [xs, ys] = [new Float32Array(pixels), new Float32Array(CLASSES)];
      decode(bytes.subarray(at, at + recordBytes), 0, xs, ys);
      yield { xs, ys };
    }
  }
}

/** A loader, made anew for each epoch, so that it has nothing ready when the epoch begins. */
export function byLoader(shuffle: boolean): Epoch {
  return async ({ samples, pixels }, use) => {
    await using loader = new DataLoader(samples, {
      batchSize: BATCH,
      shuffle,
      collate: (records: readonly Uint8Array[]) => collated(records, pixels),
    });
    const dataset = toTfDataset(loader, ({ data: { xs, ys }, size }): Example => ({
      xs: tf.tensor2d(xs, [size, pixels]),
      ys: tf.tensor2d(ys, [size, CLASSES]),
    }));
    await use(dataset);
  };
}

function collated(records: readonly Uint8Array[], pixels: number) {
  const xs = new Float32Array(records.length * pixels);
  const ys = new Float32Array(records.length * CLASSES);
  for (const [i, record] of records.entries()) decode(record, i, xs, ys);
  return { xs, ys };
}
