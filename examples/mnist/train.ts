import { createHash, type Hash } from 'node:crypto';
import type { LayersModel } from '@tensorflow/tfjs-layers';
import { Random, systemClock, type Hierarchy } from '@tiered/core';
import { Prefetcher, shuffledSequence, type AccessSequence } from '@tiered/prefetch';
import { readShard } from './dataset.js';
import { accuracyOn, fingerprintOf, toBatch, trainOn } from './model.js';
import type { Digits } from './mnist.js';

/** Divides the samples of a shard, in the full run and in the quick one. */
const BATCH = 240;

/** What one training run does. */
export interface TrainingPlan {
  readonly epochs: number;
  /** Decides the order of the samples. */
  readonly seed: number;
  readonly testDigits: Digits;
  readonly signal: AbortSignal;
  readonly onShard: () => void;
  /** Called when an epoch has ended, before the next one begins. */
  readonly onEpoch: (epoch: TrainedEpoch) => void;
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

/** Trains a model on every sample of a hierarchy's shards, epoch after epoch. */
export async function train(model: LayersModel, hierarchy: Hierarchy, plan: TrainingPlan): Promise<Trained> {
  const keys = await sortedKeys(hierarchy, plan.signal);
  const sequence = shuffledSequence(keys, { seed: plan.seed, epochs: plan.epochs });
  const order = createHash('sha256');
  for (let epoch = 0; epoch < sequence.epochs; epoch++) {
    const trained = await trainEpoch(model, hierarchy, sequence, epoch, plan, order);
    plan.onEpoch({ ...trained, accuracy: accuracyOn(model, plan.testDigits) });
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

/** One epoch with a prefetcher of its own, so that what was read belongs to this epoch and to no other. */
async function trainEpoch(
  model: LayersModel,
  hierarchy: Hierarchy,
  sequence: AccessSequence,
  epoch: number,
  plan: TrainingPlan,
  order: Hash,
): Promise<Omit<TrainedEpoch, 'accuracy'>> {
  const start = systemClock.now();
  const accesses = Array.from({ length: sequence.epochLength }, (_, position) =>
    sequence.at(epoch, position),
  );
  await using shards = new Prefetcher(hierarchy, accesses, { memory: '8MiB', signal: plan.signal });
  const seen = new Set<string>();
  let samples = 0;
  for await (const { position, data } of shards) {
    // The sequence itself draws from the streams 0 .. epochs - 1 of the seed.
    const stream = sequence.epochs + epoch * sequence.epochLength + position;
    const shard = shuffled(readShard(data), new Random(plan.seed, stream));
    for (let first = 0; first < shard.length; first += BATCH) {
      plan.signal.throwIfAborted();
      const batch = shard.slice(first, first + BATCH);
      await trainOn(model, toBatch(batch));
      samples += batch.length;
      for (const { id } of batch) {
        order.update(id);
        seen.add(id);
      }
    }
    plan.onShard();
  }
  const { stallMs, bytes } = shards.stats();
  return {
    seconds: (systemClock.now() - start) / 1000,
    stallSeconds: stallMs / 1000,
    samples,
    distinctSamples: seen.size,
    bytes,
  };
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return Array.from(random.permutation(items.length), (index) => items[index] as T);
}
