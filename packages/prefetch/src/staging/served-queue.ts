import { producersFor } from '../autotuner/limits.js';
import type { Epochs } from '../observe/profile.js';
import { placesOf, type Place } from '../observe/places.js';
import type { RequestOrigin, SampleRequest } from '../request.js';
import { BatchSize } from './batch-size.js';
import type { QueueMemory } from './queue-memory.js';
import type { SampleQueue } from './sample-queue.js';

/** Dependencies of a served queue. */
export interface ServedQueueParts {
  readonly origin: RequestOrigin;
  readonly queue: SampleQueue;
  readonly memory: QueueMemory;
  readonly epochs: Epochs;
  readonly weight: number;
}

/** A queue, with the state that producers keep for it. */
export class ServedQueue {
  readonly queue: SampleQueue;
  readonly memory: QueueMemory;
  readonly epochs: Epochs;
  /** The weight of its share of the memory, relative to other queues. */
  readonly weight: number;
  readonly size = new BatchSize();
  /** Producers that are useful for its source. */
  readonly mostProducers: number;
  /** Whether its source reads many objects at once. */
  readonly readsBatches: boolean;
  readonly placeOf: (request: SampleRequest) => Place;
  /** Whether it had nothing to admit, or no room, when it was its turn. */
  isPassedOver = false;
  /** Whether its last sample was taken, or it has failed. */
  isOver = false;

  constructor({ origin, queue, memory, epochs, weight }: ServedQueueParts) {
    this.queue = queue;
    this.memory = memory;
    this.epochs = epochs;
    this.weight = weight;
    this.mostProducers = producersFor(origin.readsAtOnce);
    this.readsBatches = queue.readsBatches;
    this.placeOf = placesOf(origin);
  }

  /** Whether other reads must end, and none may begin, so that it tries a batch alone. */
  get isAlone(): boolean {
    return this.size.isAlone(this);
  }

  /** Bytes that it holds, divided by its weight. */
  get usedShare(): number {
    return this.memory.heldBytes / this.weight;
  }
}
