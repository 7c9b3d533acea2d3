/**
 * Maximum number of readers that are remembered per sample. If more workers read a sample, each reads so
 * small a share that the first ones are as good a place as any.
 */
const READERS = 16;
/** The largest count that is kept; larger ones are cut to it. */
const MOST = 2 ** 16 - 1;

/** Maximum number of workers in a plan. */
export const MOST_WORKERS = 2 ** 16 - 1;

/** Options of `SharedReads`. */
export interface SharedReadsOptions {
  readonly samples: number;
  /** The number of workers in the training, at most 65,535. They are numbered from 0. */
  readonly workers: number;
  /** The workers whose own plan is needed. A worker needs no other plan. */
  readonly plansFor: readonly number[];
}

/** A worker that reads a sample. */
export interface Reader {
  readonly worker: number;
  /** How often it reads the sample. */
  readonly count: number;
}

/**
 * Counts how often each worker reads each sample, for a plan of all workers. Only the first 16 readers of a
 * sample are kept, so 1,024 workers need no more memory than 16: at most 64 bytes per sample, and 4 bytes per
 * sample for each worker of `plansFor`.
 */
export class SharedReads {
  readonly samples: number;
  readonly workers: number;
  readonly #stride: number;
  /** For each sample in turn: its readers, and how often each reads it. A count of 0 marks a free slot. */
  readonly #readers: Uint16Array;
  readonly #counts: Uint16Array;
  readonly #frequencies: ReadonlyMap<number, Uint32Array>;

  constructor({ samples, workers, plansFor }: SharedReadsOptions) {
    this.samples = samples;
    this.workers = workers;
    this.#stride = Math.min(workers, READERS);
    this.#readers = new Uint16Array(samples * this.#stride);
    this.#counts = new Uint16Array(samples * this.#stride);
    this.#frequencies = new Map(plansFor.map((worker) => [worker, new Uint32Array(samples)]));
  }

  /** The workers whose own plan is needed. */
  get plansFor(): readonly number[] {
    return [...this.#frequencies.keys()];
  }

  /** How often a worker of `plansFor` reads each sample. */
  frequencyOf(worker: number): Uint32Array {
    return this.#frequencies.get(worker) ?? new Uint32Array(this.samples);
  }

  /**
   * Adds the reads of a worker: one of each sample each time it is named. All workers of a cluster must add
   * reads in the same order: by epoch, and within an epoch by worker.
   */
  add(worker: number, samples: ArrayLike<number>): void {
    const frequency = this.#frequencies.get(worker);
    const stride = this.#stride;
    for (let i = 0; i < samples.length; i++) {
      const sample = samples[i] ?? 0;
      if (frequency !== undefined) frequency[sample] = (frequency[sample] ?? 0) + 1;
      for (let at = sample * stride; at < (sample + 1) * stride; at++) {
        const count = this.#counts[at] ?? 0;
        if (count > 0 && this.#readers[at] !== worker) continue;
        this.#readers[at] = worker;
        this.#counts[at] = Math.min(MOST, count + 1);
        break;
      }
    }
  }

  /**
   * The readers of a sample, most frequent first. Equals are ordered by worker number, counted from `sample`
   * on.
   */
  readersOf(sample: number): Reader[] {
    const readers: Reader[] = [];
    for (let at = sample * this.#stride; at < (sample + 1) * this.#stride; at++) {
      const count = this.#counts[at] ?? 0;
      if (count > 0) readers.push({ worker: this.#readers[at] ?? 0, count });
    }
    const { workers } = this;
    return readers.sort(
      (a, b) => b.count - a.count || turnOf(a.worker, sample, workers) - turnOf(b.worker, sample, workers),
    );
  }

  /** How often the most frequent reader of a sample reads it. */
  mostOf(sample: number): number {
    let most = 0;
    for (let at = sample * this.#stride; at < (sample + 1) * this.#stride; at++)
      most = Math.max(most, this.#counts[at] ?? 0);
    return most;
  }
}

/**
 * The number of workers that come before this one for a sample, among workers that are otherwise equal. Each
 * sample begins with another worker, so that none gets more than others.
 */
export function turnOf(worker: number, sample: number, workers: number): number {
  return (worker + workers - (sample % workers)) % workers;
}
