import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import * as tf from '@tensorflow/tfjs-core';
import { initializers, layers, sequential, type LayersModel } from '@tensorflow/tfjs-layers';
import { lenetLayers } from './lenet.js';
import { PIXELS, type Digits } from './mnist.js';
import type { SeededInitializer } from './seeded.js';

export type ModelName = 'dense' | 'lenet';

/** Test digits classified at a time: bounds the memory of LeNet's intermediate results. */
const TEST_BATCH = 1000;

/** Makes TF.js compute in WebAssembly, from the files of its package. */
export async function useWasm(): Promise<void> {
  const entry = createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm');
  setWasmPaths(path.dirname(entry) + path.sep);
  await tf.setBackend('wasm');
}

/** A new model, ready to be trained; the same seed gives the same weights. */
export function buildModel(name: ModelName, seed: number): LayersModel {
  let initialized = 0;
  const initializer: SeededInitializer = () => initializers.glorotUniform({ seed: seed + initialized++ });
  const model = sequential({
    layers: name === 'lenet' ? lenetLayers(initializer) : denseLayers(initializer),
  });
  model.compile({ optimizer: 'adam', loss: 'categoricalCrossentropy' });
  return model;
}

/** Small enough that reading the data takes longer than learning from it, as it does for LeNet on a GPU. */
function denseLayers(initializer: SeededInitializer) {
  return [
    layers.dense({ inputShape: [PIXELS], units: 16, activation: 'relu', kernelInitializer: initializer() }),
    layers.dense({ units: 10, activation: 'softmax', kernelInitializer: initializer() }),
  ];
}

/** Digits as tensors. TF.js would walk raw Buffers byte by byte; tensors it takes as they are. */
export interface Batch {
  readonly images: tf.Tensor2D;
  readonly labels: tf.Tensor2D;
}

/** Makes a batch. Dispose of it with `tf.dispose`. */
export function toBatch(samples: readonly { readonly image: Uint8Array; readonly label: number }[]): Batch {
  const pixels = new Float32Array(samples.length * PIXELS);
  const labels = new Float32Array(samples.length * 10);
  for (const [row, { image, label }] of samples.entries()) {
    for (let i = 0; i < PIXELS; i++) pixels[row * PIXELS + i] = (image[i] ?? 0) / 255;
    labels[row * 10 + label] = 1;
  }
  return {
    images: tf.tensor2d(pixels, [samples.length, PIXELS]),
    labels: tf.tensor2d(labels, [samples.length, 10]),
  };
}

/** One step of training. Resolves after the event loop has turned, so that reads go on between steps. */
export async function trainOn(model: LayersModel, batch: Batch): Promise<void> {
  await model.trainOnBatch(batch.images, batch.labels);
  tf.dispose([batch.images, batch.labels]);
  await tf.nextFrame();
}

/** Lets the compilers see a few steps, so that the setup that happens to be first does not pay for them. */
export async function warmUp(name: ModelName, digits: Digits): Promise<void> {
  const model = buildModel(name, 0);
  const samples = samplesOf(digits, 0, 200);
  for (let step = 0; step < 10; step++) await trainOn(model, toBatch(samples));
  model.dispose();
}

/** The share of the digits that the model takes for what they are. */
export function accuracyOn(model: LayersModel, digits: Digits): number {
  let right = 0;
  for (let first = 0; first < digits.count; first += TEST_BATCH) {
    const count = Math.min(TEST_BATCH, digits.count - first);
    right += tf.tidy(() => {
      const { images, labels } = toBatch(samplesOf(digits, first, count));
      const answers = tf.argMax(model.predictOnBatch(images) as tf.Tensor2D, 1);
      const hits = tf.sum(tf.cast(tf.equal(answers, tf.argMax(labels, 1)), 'int32'));
      return hits.dataSync()[0] ?? 0;
    });
  }
  return right / digits.count;
}

function samplesOf(digits: Digits, first: number, count: number) {
  return Array.from({ length: count }, (_, i) => ({
    image: digits.image(first + i),
    label: digits.label(first + i),
  }));
}

/** A fingerprint of the weights, to the last bit. */
export function fingerprintOf(model: LayersModel): string {
  const hash = createHash('sha256');
  for (const weight of model.getWeights()) {
    const { buffer, byteOffset, byteLength } = weight.dataSync();
    hash.update(new Uint8Array(buffer, byteOffset, byteLength));
  }
  return hash.digest('hex');
}
