import { configError } from '@tiered/core/internal';
import type { SampleSet } from '@tiered/formats';
import { createHash, type Hash } from 'node:crypto';
import type { EpochOrder } from './order/epoch-order.js';
import type { Parts } from './order/parts.js';

/**
 * The position of a training: plain data, to be saved as JSON with a checkpoint. It is the same on all ranks,
 * and does not depend on the number of ranks or workers, on the batch size, or on tiers. So a training may
 * resume with different ones.
 */
export interface LoaderState {
  readonly version: 1;
  /** The epoch, from 0; the number of epochs at the end. */
  readonly epoch: number;
  /** Samples of that epoch that are done, on all ranks. */
  readonly done: number;
  /** A hash of the inputs of the order, so that a training never resumes with another order. */
  readonly order: string;
  /** Sequences that a window shuffle reads side by side. Fixed at the beginning of the training. */
  readonly lanes: number;
}

/** A hash of an order and of its samples. O(objects). */
export function orderHash({ identity }: EpochOrder, { list }: Parts): string {
  const hash = createHash('sha256').update(JSON.stringify(identity));
  for (const { samples, only } of list) {
    hashSamples(hash, samples);
    if (only !== undefined) hash.update(only);
  }
  return hash.digest('hex').slice(0, 16);
}

/** Adds the samples that the numbers stand for. O(objects). */
export function hashSamples(hash: Hash, { format, records, samples, bytes, keys }: SampleSet): void {
  hash.update(JSON.stringify([format.name, records, samples, bytes]));
  for (const key of keys) hash.update(key).update('\0');
}

/**
 * Checks a state from outside.
 * @throws TieredError `TIERED_CONFIG_INVALID` if it is no state, or belongs to other samples or another
 * order.
 */
export function assertState(state: LoaderState, order: EpochOrder, parts: Parts, epochs: number): void {
  const { epoch, done, order: hash } = state;
  if (hash !== orderHash(order, parts))
    throw configError('resume.order', 'the state of a loader with the same samples, seed and shuffle', hash);
  if (!isIndex(epoch, epochs + 1)) throw configError('resume.epoch', `0 to ${epochs}`, epoch);
  if (!isIndex(done, order.length)) throw configError('resume.done', `0 to ${order.length - 1}`, done);
}

/** Checks the form of a state, before its order can be made. */
export function assertForm(state: unknown): asserts state is LoaderState {
  if (typeof state !== 'object' || state === null)
    throw configError('resume', 'what stateDict() gave', state);
  const { version, lanes } = state as Partial<LoaderState>;
  if (version !== 1) throw configError('resume.version', '1', version);
  if (!isIndex((lanes ?? 0) - 1, 2 ** 20))
    throw configError('resume.lanes', 'a whole number of at least 1', lanes);
}

function isIndex(value: unknown, count: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < count;
}
