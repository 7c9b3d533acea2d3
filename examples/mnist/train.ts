import { createHash, type Hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { LayersModel } from '@tensorflow/tfjs-layers';
import { Random, systemClock, type Hierarchy } from '@tiered/core';
import { shuffledSequence, type AccessSequence } from '@tiered/prefetch';
import { readShard, type Dataset, type Sample } from './dataset.js';
import { accuracyOn, fingerprintOf, toBatch, trainOn } from './model.js';
import type { Digits } from './mnist.js';
import type { ReadEpoch } from './readers.js';

/** Divides the samples of a shard, in the full run and in the quick one. */
const BATCH = 240;

/** What one training run does. */
export interface TrainingPlan {
  readonly epochs: number;
  /** Decides the order of the samples. */
  readonly seed: number;
  readonly testDigits: Digits;
  readonly signal: AbortSignal;
  readonly readEpoch: ReadEpoch;
  readonly onShard: () => void;
}

/** How one epoch went. */
export interface TrainedEpoch {
  /** Of reading and training; not of testing. */
  readonly seconds: number;
  /** Of those, how long the model had nothing to do. */
  readonly stallSeconds: number;
  /** Samples trained on, and how many different ones they were. */
  readonly samples: number;
  readonly distinctSamples: number;
  /** Bytes of shards read. */
  readonly bytes: number;
  /** On digits it was not trained with. */
  readonly accuracy: number;
}

/** What came out, to be compared with other runs. */
export interface Trained {
  /** Fingerprint of the ids of all samples, in the order in which they were trained on. */
  readonly order: string;
  /** Fingerprint of the weights. */
  readonly weights: string;
}

/** Trains a model on every sample of the shards, epoch after epoch, each when it is asked for. */
export async function* train(
  model: LayersModel,
  keys: readonly string[],
  plan: TrainingPlan,
): AsyncGenerator<TrainedEpoch, Trained, undefined> {
  const sequence = shuffledSequence(keys, { seed: plan.seed, epochs: plan.epochs });
  const order = createHash('sha256');
  for (let epoch = 0; epoch < sequence.epochs; epoch++) {
    const trained = await trainEpoch(model, sequence, epoch, plan, order);
    yield { ...trained, accuracy: accuracyOn(model, plan.testDigits) };
  }
  return { order: order.digest('hex'), weights: fingerprintOf(model) };
}

/**
 * The hierarchy's keys. A listing may come in any order, and the shuffle starts from the order it is given.
 */
export async function sortedKeys(hierarchy: Hierarchy, signal: AbortSignal): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of hierarchy.list({ signal })) for (const { key } of page) keys.push(key);
  return keys.sort();
}

/** Trains on the shards of one epoch, and counts how long they were waited for. */
async function trainEpoch(
  model: LayersModel,
  sequence: AccessSequence,
  epoch: number,
  plan: TrainingPlan,
  order: Hash,
): Promise<Omit<TrainedEpoch, 'accuracy'>> {
  const start = systemClock.now();
  const keys = Array.from(
    { length: sequence.epochLength },
    (_, position) => sequence.at(epoch, position).key,
  );
  const seen = new Set<string>();
  let [samples, bytes, stallMs] = [0, 0, 0];
  let asked = systemClock.now();
  for await (const { position, data } of plan.readEpoch(keys, plan.signal)) {
    stallMs += systemClock.now() - asked;
    // The sequence itself draws from the streams 0 .. epochs - 1 of the seed.
    const stream = sequence.epochs + epoch * sequence.epochLength + position;
    for (const batch of batchesOf(data, new Random(plan.seed, stream))) {
      plan.signal.throwIfAborted();
      await trainOn(model, toBatch(batch));
      samples += batch.length;
      for (const { id } of batch) {
        order.update(id);
        seen.add(id);
      }
    }
    bytes += data.byteLength;
    plan.onShard();
    asked = systemClock.now();
  }
  return {
    seconds: (systemClock.now() - start) / 1000,
    stallSeconds: stallMs / 1000,
    samples,
    distinctSamples: seen.size,
    bytes,
  };
}

/** The batches of a shard, in random order. */
function* batchesOf(data: Uint8Array, random: Random): Generator<Sample[]> {
  const shard = shuffled(readShard(data), random);
  for (let first = 0; first < shard.length; first += BATCH) yield shard.slice(first, first + BATCH);
}

/** Shards that tell how long computing takes, and as many before that the compilers are done. */
const MEASURED = 4;

/** Seconds that the model computes in an epoch: those of some shards that are in memory. */
export async function measurePace(
  model: LayersModel,
  { directory, files, shards }: Dataset,
): Promise<number> {
  const names = Object.keys(files).slice(0, MEASURED);
  const read = await Promise.all(names.map((name) => readFile(path.join(directory, name))));
  let seconds = Infinity;
  for (let round = 0; round < 2; round++) {
    const start = systemClock.now();
    for (const data of read)
      for (const batch of batchesOf(data, new Random(round))) await trainOn(model, toBatch(batch));
    seconds = Math.min(seconds, (systemClock.now() - start) / 1000);
  }
  return (seconds / read.length) * shards;
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return Array.from(random.permutation(items.length), (index) => items[index] as T);
}
