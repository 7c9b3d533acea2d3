import type { Sampler } from '@tiered/prefetch';
import type { SystemModel } from './model.js';

/** What a strategy knows of the run that it is for. */
export interface World {
  readonly system: SystemModel;
  /** Bytes of every sample. */
  readonly sizes: Float64Array;
  /** Bytes of all samples. */
  readonly totalBytes: number;
  readonly sampler: Sampler;
  readonly seed: number;
  /** Samples that a worker reads of one global batch, B / N, rounded. */
  readonly batchPart: number;
  /** What each worker reads of each sample and when it first does, over all epochs. Computed once, when first asked for. */
  readonly accesses: () => Accesses;
}

/** The tables of section 3.2 for every worker. */
export interface Accesses {
  /** Of each worker: how often it reads each sample. */
  readonly frequencies: readonly FrequencyTable[];
  /** Of each worker: the samples that it reads at all, in order of first access. */
  readonly firstAccesses: readonly Uint32Array[];
}

/** One number a sample, in as few bytes as so many epochs need. */
export type FrequencyTable = Uint8Array | Uint16Array | Uint32Array;

/** Copies what every worker reads in an epoch. */
export function ordersOf(sampler: Sampler, epoch: number): Uint32Array[] {
  return Array.from({ length: sampler.workers }, (_, worker) => sampler.epoch(worker, epoch).slice());
}

/** Goes through all epochs once. */
export function countAccesses(sampler: Sampler): Accesses {
  const { samples, epochs, workers } = sampler;
  const Table = epochs < 2 ** 8 ? Uint8Array : epochs < 2 ** 16 ? Uint16Array : Uint32Array;
  const all = Array.from({ length: workers }, () => new Table(samples));
  const firsts = all.map((_, worker) => new Uint32Array(Math.min(samples, epochs * sampler.epochLength(worker))));
  const counts = all.map(() => 0);
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (const [worker, frequencies] of all.entries()) {
      const first = firsts[worker] ?? new Uint32Array();
      let count = counts[worker] ?? 0;
      const order = sampler.epoch(worker, epoch);
      for (let position = 0; position < order.length; position++) {
        const sample = order[position] ?? 0;
        const before = frequencies[sample] ?? 0;
        if (before === 0) first[count++] = sample;
        frequencies[sample] = before + 1;
      }
      counts[worker] = count;
    }
  }
  return { frequencies: all, firstAccesses: firsts.map((first, worker) => first.subarray(0, counts[worker])) };
}
