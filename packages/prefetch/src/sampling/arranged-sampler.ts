import { assertIndex, EpochOrders } from '../sequence/access-sequence.js';
import type { Sampler } from './sampler.js';

/** The parts that a sampler of this package is made of. */
export interface ArrangedSamplerParts extends Pick<Sampler, 'samples' | 'epochs' | 'workers'> {
  /** Accesses of one worker in one epoch. */
  readonly lengthOf: (worker: number) => number;
  /** All accesses of an epoch, those of worker 0 first. */
  readonly arrange: (epoch: number) => Uint32Array;
}

/**
 * A sampler that keeps the epochs it drew last, each with every worker's accesses in one piece. So the reads
 * of a worker are a view, and an epoch takes 4 bytes per access, for one worker or for all.
 */
export class ArrangedSampler implements Sampler {
  readonly samples: number;
  readonly epochs: number;
  readonly workers: number;
  /** Where each worker's accesses begin. The last element is where the accesses of the last worker end. */
  readonly #starts: Float64Array;
  readonly #orders: EpochOrders;

  constructor({ samples, epochs, workers, lengthOf, arrange }: ArrangedSamplerParts) {
    this.samples = samples;
    this.epochs = epochs;
    this.workers = workers;
    this.#starts = new Float64Array(workers + 1);
    for (let worker = 0; worker < workers; worker++)
      this.#starts[worker + 1] = this.#start(worker) + lengthOf(worker);
    this.#orders = new EpochOrders(arrange);
  }

  epochLength(worker: number): number {
    assertIndex('worker', worker, this.workers);
    return this.#start(worker + 1) - this.#start(worker);
  }

  epoch(worker: number, epoch: number): Uint32Array {
    assertIndex('worker', worker, this.workers);
    assertIndex('epoch', epoch, this.epochs);
    return this.#orders.of(epoch).subarray(this.#start(worker), this.#start(worker + 1));
  }

  at(worker: number, epoch: number, position: number): number {
    assertIndex('position', position, this.epochLength(worker));
    assertIndex('epoch', epoch, this.epochs);
    return this.#orders.of(epoch)[this.#start(worker) + position] ?? 0;
  }

  #start(worker: number): number {
    return this.#starts[worker] ?? 0;
  }
}
