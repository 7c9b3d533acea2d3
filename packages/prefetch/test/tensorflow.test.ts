import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-wasm';
import * as tfData from '@tensorflow/tfjs-data';
import { listSequence, Prefetcher } from '@tiered/prefetch';
import { expect, it } from 'vitest';
import { charge, keys, objects, over } from './helpers.js';

it('[P4] [P13] a dataset of TensorFlow.js over an epoch has the bytes of each sample, though TensorFlow holds on to them', async () => {
  await tf.setBackend('wasm');
  const hierarchy = await over(await objects(Array.from({ length: 12 }, () => 4)));
  const accesses = listSequence(keys(12), { epochs: 2 });
  // Memory serves the next sample as soon as it can.
  const prefetcher = new Prefetcher(hierarchy, accesses, { memory: 2 * charge(4), producers: 1 });
  // As in the README.
  const dataset = tfData.generator(async function* () {
    for await (const { data, epoch } of prefetcher.epoch())
      yield { xs: tf.tensor1d(data, 'int32'), ys: epoch };
  });
  for (const epoch of [0, 1]) {
    const seen: number[] = [];
    await dataset
      .prefetch(3)
      .shuffle(5, 'seed')
      .batch(4)
      .forEachAsync((batch) => {
        const { xs, ys } = batch as { xs: tf.Tensor2D; ys: tf.Tensor1D };
        expect([...ys.dataSync()]).toEqual([epoch, epoch, epoch, epoch]);
        for (const row of xs.arraySync()) {
          const [first = 0] = row;
          expect(row).toEqual([0, 1, 2, 3].map((i) => (first + i) % 256));
          seen.push(first);
        }
      });
    expect(seen.toSorted((a, b) => a - b)).toEqual(
      keys(12)
        .map((key) => (37 * Number(key)) % 256)
        .toSorted((a, b) => a - b),
    );
  }
  await prefetcher.close();
});
