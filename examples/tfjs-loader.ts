// LeNet on TF.js, from shards through a loader. It is killed (kill -9) in the middle of an epoch, and goes on
// from its last checkpoint, which has the loader's state beside the weights: no sample is lost or repeated.
// Run it: node --conditions=tiered-source --import tsx examples/tfjs-loader.ts
import * as tf from '@tensorflow/tfjs-core';
import { initializers, sequential } from '@tensorflow/tfjs-layers';
import { Hierarchy } from '@tiered/core';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { DataLoader, stack, type LoaderState } from '@tiered/loader';
import { toTfDataset } from '@tiered/loader/tfjs';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { lenetLayers } from './mnist/lenet.js';
import { PIXELS, readMnist } from './mnist/mnist.js';
import { useWasm } from './mnist/model.js';

const [DIGITS, SHARDS, BATCH, EPOCHS, KILLED_AFTER] = [320, 4, 32, 2, 14];

/** `seen` is kept only to be checked. */
type Checkpoint = { state: LoaderState; weights: number[][]; seen: string[] };

async function train(directory: string, file: string): Promise<void> {
  await useWasm();
  const kept = fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, 'utf8')) as Checkpoint) : undefined;
  await using hierarchy = await new Hierarchy({ source: new FileSystemDriver({ root: directory }) }).open();
  const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: 1 + PIXELS }) });
  const options = { batchSize: BATCH, seed: 42, epochs: EPOCHS, collate: stack<Uint8Array> };
  await using loader = new DataLoader(samples, { ...options, resume: kept?.state });

  const model = sequential({ layers: lenetLayers(() => initializers.glorotUniform({ seed: 1 })) });
  model.compile({ optimizer: tf.train.sgd(0.1), loss: 'categoricalCrossentropy' });
  if (kept !== undefined)
    model.setWeights(model.getWeights().map(({ shape }, i) => tf.tensor(kept.weights[i] ?? [], shape)));
  const seen = kept?.seen ?? [];
  const dataset = toTfDataset(loader, (batch) => {
    for (let i = 0; i < batch.size; i++) seen.push(`epoch ${batch.epoch} ${batch.nameOf(i)}`);
    const { data, shape } = batch.data;
    const [labels, pixels] = tf.split(tf.tensor2d(data, [...shape]), [1, PIXELS], 1) as [
      tf.Tensor,
      tf.Tensor,
    ];
    return { xs: tf.div(pixels, 255), ys: tf.oneHot(tf.squeeze(labels, [1]), 10) };
  });
  const onBatchEnd = () => {
    if (seen.length === KILLED_AFTER * BATCH && kept === undefined) process.kill(process.pid, 'SIGKILL');
    if (seen.length % (4 * BATCH) !== 0) return;
    const weights = model.getWeights().map((weight) => [...weight.dataSync()]);
    fs.writeFileSync(`${file}.new`, JSON.stringify({ state: loader.stateDict(), weights, seen }));
    fs.renameSync(`${file}.new`, file);
  };
  const { epoch: initialEpoch, done } = loader.stateDict();
  console.log(`begins in epoch ${initialEpoch}, behind ${done} samples`);
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- TF.js has it twice
  await model.fitDataset(dataset, { epochs: EPOCHS, initialEpoch, callbacks: { onBatchEnd } });
  assert.deepEqual([seen.length, new Set(seen).size], [EPOCHS * DIGITS, EPOCHS * DIGITS]);
  console.log(`${seen.length} samples: none was lost, and none came twice in an epoch`);
}

const [, program = '', given] = process.argv;
const directory = given ?? fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-tfjs-'));
if (given !== undefined) await train(path.join(directory, 'shards'), path.join(directory, 'checkpoint.json'));
else {
  const digits = await readMnist('train', new AbortController().signal);
  const record = (i: number) => Buffer.from([digits.label(i), ...digits.image(i)]);
  fs.mkdirSync(path.join(directory, 'shards'));
  for (let shard = 0; shard < SHARDS; shard++) {
    const records = Array.from({ length: DIGITS / SHARDS }, (_, i) => record(i * SHARDS + shard));
    fs.writeFileSync(path.join(directory, 'shards', `${shard}`), Buffer.concat(records));
  }
  assert.deepEqual(await once(fork(program, [directory]), 'exit'), [null, 'SIGKILL']);
  assert.deepEqual(await once(fork(program, [directory]), 'exit'), [0, null]);
  fs.rmSync(directory, { recursive: true });
}
