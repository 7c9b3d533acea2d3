import type { Tuning } from '../autotuner/autotuner.js';
import type { ServedQueue } from './served-queue.js';

/** The queues that producers serve. Decides whose turn it is, and shares memory and samples among them. */
export class QueueSet implements Iterable<ServedQueue> {
  readonly #queues = new Set<ServedQueue>();

  [Symbol.iterator](): IterableIterator<ServedQueue> {
    return this.#queues.values();
  }

  add(served: ServedQueue): void {
    this.#queues.add(served);
  }

  /** Returns whether the set had it. */
  delete(served: ServedQueue): boolean {
    return this.#queues.delete(served);
  }

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  /** Whether one of them has no room for its next sample. */
  get isFull(): boolean {
    for (const { queue } of this.#queues) if (queue.isFull && !queue.ended) return true;
    return false;
  }

  /**
   * The queue that is to try a batch alone. A queue that admits nothing is not chosen, as the others would
   * wait for it.
   */
  get trying(): ServedQueue | undefined {
    for (const served of this.#queues) if (!served.isPassedOver && served.isAlone) return served;
    return undefined;
  }

  /** Samples that are ready for consumers. */
  get readySamples(): number {
    let ready = 0;
    for (const { queue } of this.#queues) ready += queue.readySamples;
    return ready;
  }

  /** Producers that are useful for the sources. */
  get mostProducers(): number {
    let most = 1;
    for (const { mostProducers } of this.#queues) most = Math.max(most, mostProducers);
    return most;
  }

  /**
   * Returns how many producers are useful if `concurrency` requests may be in flight. They are fewer if they
   * read batches.
   */
  usableProducers(concurrency: number): number {
    let usable = 1;
    for (const served of this.#queues) usable = Math.max(usable, served.size.usable(served, concurrency));
    return usable;
  }

  /**
   * Returns the queues in the order in which to serve them: the one that tries a batch, then those whose
   * consumer waits, then those that hold the least of their share.
   */
  inOrder(): Iterable<ServedQueue> {
    if (this.#queues.size < 2) return this.#queues;
    const { trying } = this;
    return [...this.#queues].sort(
      (a, b) =>
        Number(b === trying) - Number(a === trying) ||
        Number(b.queue.isUrgent) - Number(a.queue.isUrgent) ||
        a.usedShare - b.usedShare,
    );
  }

  /** Gives each queue its part of memory and samples. */
  share({ producers, samples, memoryBytes }: Tuning): void {
    let weights = 0;
    for (const { weight } of this.#queues) weights += weight;
    for (const { queue, memory, weight } of this.#queues) {
      const share = weight / weights;
      memory.limit = Math.floor(memoryBytes * share);
      queue.room.mostSamples = Math.max(1, Math.floor(samples * share));
      // If only bytes count, the number of producers bounds the reads.
      queue.room.producers = Number.isFinite(samples) ? Math.max(1, Math.floor(producers * share)) : Infinity;
    }
  }
}
