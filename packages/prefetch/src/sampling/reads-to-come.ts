import { systemClock, TieredError, type Clock, type OperationOptions } from '@tiered/core';
import { describedSampler, type DescribedSequence } from './described-sequence.js';
import type { Sampler } from './sampler.js';

/** Most sequences that are counted. Further ones cost nothing, however many there are. */
const MOST_SEQUENCES = 64;
const MOST_DRAWN = 2 ** 28;
/** Drawing an epoch costs as much as this many samples, however few it has. */
const EPOCH_COSTS = 512;

/** Options of `readsToCome`. */
export interface ReadsToComeOptions extends OperationOptions {
  /**
   * Samples of the dataset. A sequence that reads any beyond these belongs to another dataset, and is left
   * out.
   */
  readonly samples: number;
  /**
   * Most samples to draw; each epoch costs as much as 512 more. Counts are comparable only with the same
   * value. Default: 2^28, about 10 seconds.
   */
  readonly mostDrawn?: number | undefined;
  /** Lets the event loop turn. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/**
 * Counts how often some workers together will still read each sample of a dataset: the value of a copy of it
 * on a tier that they share. Counts from the beginning of the epoch that each worker is in.
 *
 * The same sequences give the same counts on all machines, in any order. The sequences may come from
 * strangers: those that are impossible, or of another dataset, are left out, as are those beyond the first 64
 * by their text. Takes 8 bytes per sample of the dataset, and during the count 12 for each that a training
 * reads. Draws no more than `mostDrawn`, or one epoch of each training. Of longer sequences the first epochs
 * are drawn, and stand for the others.
 *
 * Workers that differ only in their number cost no more than one. The event loop turns after every epoch.
 * @throws The signal's reason, as soon as the epoch that is being drawn is done.
 */
export async function readsToCome(
  sequences: readonly DescribedSequence[],
  { samples, mostDrawn = MOST_DRAWN, signal, clock = systemClock }: ReadsToComeOptions,
): Promise<Float64Array> {
  const counts = new Float64Array(samples);
  const trainings = trainingsOf(sequences.filter((one) => isWithin(one, samples)));
  const costs = ({ sampler: { samples: read, workers } }: Training) => read + workers + EPOCH_COSTS;
  const drawn = trainings.reduce((sum, training) => sum + costs(training), 0);
  const most = Math.max(1, Math.floor(mostDrawn / Math.max(1, drawn)));
  for (const training of trainings) {
    const { first, sampler, readers } = training;
    const begin = Math.min(...readers.map(({ epoch }) => epoch));
    const end = Math.min(sampler.epochs, begin + most);
    const each = end > begin ? (sampler.epochs - begin) / (end - begin) : 0;
    for (let epoch = begin; epoch < end; epoch++) {
      signal?.throwIfAborted();
      for (const reader of readers)
        if (reader.epoch <= epoch) add(counts, sampler.epoch(reader.worker, epoch), first, each);
      await clock.turn();
    }
  }
  return counts;
}

function add(counts: Float64Array, drawn: Uint32Array, first: number, each: number): void {
  for (const sample of drawn) counts[first + sample] = (counts[first + sample] ?? 0) + each;
}

function isWithin({ first, samples }: DescribedSequence, all: number): boolean {
  return first + samples <= all;
}

/** A training, of which some workers are known. */
interface Training {
  readonly sampler: Sampler;
  readonly first: number;
  readonly readers: Pick<DescribedSequence, 'worker' | 'epoch'>[];
}

/** Groups the workers of a training, so that each of its epochs is drawn once. */
function trainingsOf(sequences: readonly DescribedSequence[]): Training[] {
  const trainings = new Map<string, Training>();
  // Sorted, because sums of fractions depend on their order.
  const keyed = sequences.map((one) => [textOf(one), one] as const).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [, described] of keyed.slice(0, MOST_SEQUENCES)) {
    const { worker, epoch, first } = described;
    const key = textOf({ ...described, worker: 0, epoch: 0 });
    const sampler = samplerOrNone(described);
    if (sampler === undefined) continue;
    const known = trainings.get(key);
    if (known !== undefined) known.readers.push({ worker, epoch });
    else trainings.set(key, { sampler, first, readers: [{ worker, epoch }] });
  }
  return [...trainings.values()];
}

/** The fields in a fixed order, because records do not keep it. */
function textOf(one: DescribedSequence): string {
  const { sampler, first, samples, seed, epochs, workers, batchSize, dropLast, worker, epoch } = one;
  return JSON.stringify([sampler, first, samples, seed, epochs, workers, batchSize, dropLast, worker, epoch]);
}

function samplerOrNone(described: DescribedSequence): Sampler | undefined {
  try {
    return describedSampler(described);
  } catch (error) {
    if (error instanceof TieredError) return undefined;
    throw error;
  }
}
