import type { Clock, TieredError } from '@tiered/core';
import type { Autotuner, Tuning, TuningEvent } from '../autotuner/autotuner.js';
import { Epochs, profileOf, type EpochProfile, type Profile } from '../observe/profile.js';
import type { Settings } from '../observe/figures.js';
import { Meter } from '../observe/meter.js';
import { slower } from '../observe/places.js';
import type { BatchLimits } from './admission.js';
import type { Entry } from './entry.js';
import { BufferMemory, QueueMemory } from './queue-memory.js';
import type { FlowPort, Taken, WorkPort } from './queue-ports.js';
import { QueueSet } from './queue-set.js';
import { SampleQueue, type QueueParts } from './sample-queue.js';
import { ServedQueue } from './served-queue.js';
import { Tuner } from './tuner.js';

/** Options of a staging buffer, checked. */
export interface ProducersParts {
  readonly memoryBytes: number;
  readonly concurrency: number;
  readonly fixed: Partial<Tuning>;
  readonly autotuner: Autotuner | undefined;
  readonly debug: ((line: string) => void) | undefined;
  readonly clock: Clock;
  readonly onTuned: (event: TuningEvent) => void;
  /** Called when the last queue has left. */
  readonly onRest: () => void;
}

/** Parameters of the queue that a prefetcher opens. */
export interface OpenParts extends Omit<QueueParts, 'ports' | 'clock'> {
  readonly weight: number;
  /** Called when the last sample was taken or the queue has failed. */
  readonly onEnd: () => void;
}

/** A queue as its prefetcher sees it. */
export interface OpenedQueue {
  readonly queue: SampleQueue;
  /** Bytes of samples that are being read, waiting, or held by consumers. */
  heldBytes(): number;
  /** Measurements of each epoch, also available after the end. */
  epochs(): readonly EpochProfile[];
  /** Closes the queue; later calls fail with this error. Resolves when it reads nothing and holds nothing. */
  close(error: TieredError): Promise<void>;
}

/**
 * The producers of a staging buffer. They share memory between queues, and read what queues admit.
 *
 * There is no thread and no timer. Code that makes room, or learns something, reports it (`WorkPort`), and
 * then as many reads begin as there are free producers. Reports that arrive meanwhile lead to one more pass
 * afterwards.
 */
export class Producers {
  readonly #parts: ProducersParts;
  readonly #clock: Clock;
  readonly #tuner: Tuner;
  readonly #meter: Meter;
  readonly #memory: BufferMemory;
  readonly #queues = new QueueSet();
  /** The largest `readsAtOnce` of all sources that were read from. */
  #readsAtOnce = 0;
  /** Reads in flight. Each read of a batch counts. */
  #requests = 0;
  /** Most reads that may be in flight now. */
  #concurrency: number;
  #isWaking = false;
  #isToWake = false;

  constructor(parts: ProducersParts) {
    const { autotuner, fixed, memoryBytes, concurrency, clock, debug, onTuned } = parts;
    this.#parts = parts;
    this.#concurrency = concurrency;
    this.#clock = clock;
    this.#meter = new Meter(clock);
    this.#memory = new BufferMemory(memoryBytes);
    this.#tuner = new Tuner({
      autotuner,
      fixed,
      limits: { producers: concurrency, memoryBytes },
      clock,
      onTuned: (event) => {
        this.#share();
        debug?.(`tuned at ${event.atMs.toFixed(0)} ms: ${event.decision.reason}`);
        onTuned(event);
      },
    });
  }

  get tuning(): Tuning {
    return this.#tuner.tuning;
  }

  /** Bounds the producers and memory in use from now on. */
  bound(bounds: Pick<Tuning, 'producers' | 'memoryBytes'>): void {
    this.#concurrency = Math.min(this.#parts.concurrency, bounds.producers);
    this.#tuner.bound(bounds);
    this.#share();
    this.#wake();
  }

  profile(): Profile {
    return profileOf(this.#meter, this.#settings, this.#tuner.decisions);
  }

  open({ weight, onEnd, ...parts }: OpenParts): OpenedQueue {
    const { origin } = parts;
    this.#readsAtOnce = Math.max(this.#readsAtOnce, origin.readsAtOnce ?? Infinity);
    const epochs = new Epochs(this.#clock, origin);
    const memory = new QueueMemory(this.#parts.memoryBytes, this.#memory);
    const ports = { memory, work: this.#workOf(() => served, onEnd), flow: this.#flowOf(() => served) };
    const queue = new SampleQueue({ ...parts, clock: this.#clock, ports });
    const served: ServedQueue = new ServedQueue({ origin, queue, memory, epochs, weight });
    this.#queues.add(served);
    this.#share();
    // Deferred, so that prefetchers made one after the other share from the start.
    queueMicrotask(() => this.#wake());
    return {
      queue,
      heldBytes: () => memory.heldBytes,
      epochs: () => epochs.profiles(this.#settings, this.#meter),
      close: async (error) => {
        await queue.close(error);
        this.#leave(served);
      },
    };
  }

  get #settings(): Settings {
    const { concurrency, memoryBytes } = this.#parts;
    const limits = { producers: concurrency, memoryBytes, readsAtOnce: this.#readsAtOnce || Infinity };
    return { tuning: this.#tuner.tuning, limits };
  }

  #workOf(served: () => ServedQueue, onEnd: () => void): WorkPort {
    return {
      available: () => {
        this.#leaveIfOver(served());
        this.#wake();
      },
      released: () => {
        if (this.#queues.isFull) this.#wake();
      },
      ended: () => {
        onEnd();
        served().isOver = true;
        served().epochs.end(this.#settings, this.#meter);
        this.#leaveIfOver(served());
      },
    };
  }

  #flowOf(served: () => ServedQueue): FlowPort {
    return {
      starving: (change) => {
        this.#meter.starving(change);
        served().epochs.meter.starving(change);
      },
      refused: () => {
        this.#meter.refused();
        served().epochs.meter.refused();
      },
      moved: (taken) => this.#moved(served(), taken),
    };
  }

  #leaveIfOver(served: ServedQueue): void {
    // Its remaining reads still hold memory of its share.
    if (served.isOver && served.queue.reading === 0) this.#leave(served);
  }

  #leave(served: ServedQueue): void {
    if (!this.#queues.delete(served)) return;
    served.memory.retire();
    if (this.#queues.isEmpty) this.#memory.outside.rest();
    this.#share();
    this.#wake();
    if (this.#queues.isEmpty) this.#parts.onRest();
  }

  #share(): void {
    this.#memory.limit = this.#tuner.tuning.memoryBytes;
    this.#queues.share(this.#tuner.tuning);
  }

  /** Starts as many reads as free producers, samples and room allow. */
  #wake(): void {
    if (this.#isWaking) {
      this.#isToWake = true;
      return;
    }
    this.#isWaking = true;
    do {
      this.#isToWake = false;
      // This needs no free producer.
      for (const { queue } of this.#queues) queue.tellEnd();
      while (this.#isProducerFree && this.#startOne());
    } while (this.#isToWake);
    this.#isWaking = false;
    const full = this.#isProducerFree && this.#queues.isFull;
    this.#meter.full = full;
    for (const { epochs } of this.#queues) epochs.meter.full = full;
  }

  get #isProducerFree(): boolean {
    return this.#meter.busy < this.#mostAtWork && this.#requests < this.#concurrency;
  }

  /** Producers that may be at work now. */
  get #mostAtWork(): number {
    const { producers } = this.#tuner.tuning;
    return this.#queues.trying === undefined ? Math.min(producers, this.#usableProducers) : 1;
  }

  get #usableProducers(): number {
    return this.#queues.usableProducers(this.#concurrency);
  }

  /** Starts a read of the first queue that admits something. Returns false if none does. */
  #startOne(): boolean {
    for (const served of this.#queues.inOrder()) {
      const { queue } = served;
      served.isPassedOver = true;
      if (queue.ended) continue;
      if (!this.#tuner.hasBegun) this.#begin(queue);
      const batch = queue.admit(this.#limitsOf(served));
      const [first] = batch;
      if (first === undefined) continue;
      served.isPassedOver = false;
      this.#read(served, batch, first);
      return true;
    }
    return false;
  }

  #read(served: ServedQueue, batch: readonly Entry[], first: Entry): void {
    const { queue, size, epochs, placeOf } = served;
    const start = this.#clock.now();
    // Only fast storage is read in batches. The first and last entries stand for the whole batch.
    const last = batch.at(-1) ?? first;
    const place =
      batch.length === 1 ? placeOf(first.request) : slower(placeOf(first.request), placeOf(last.request));
    for (const meter of [this.#meter, epochs.meter]) meter.began(place, batch.length);
    size.began(batch.length);
    const underWay = this.#meter.busy;
    this.#requests += batch.length;
    void queue.read(batch).then(() => {
      const ms = this.#clock.now() - start;
      this.#requests -= batch.length;
      const bytes = batch.reduce((sum, entry) => sum + entry.size, 0);
      size.ended(batch.length, ms, underWay, place);
      for (const meter of [this.#meter, epochs.meter]) meter.ended(place, batch.length, bytes, ms);
      this.#parts.debug?.(
        `read ${batch.length} from ${first.request.key}, ${bytes} bytes in ${ms.toFixed(3)} ms`,
      );
      this.#leaveIfOver(served);
      this.#look();
      this.#wake();
    });
  }

  #limitsOf(served: ServedQueue): BatchLimits {
    // A queue that was passed over gets its turn while others read, so it would not try a batch alone.
    if (this.#meter.busy > 0 && served.isAlone) return { samples: 1, bytes: Infinity };
    const free = this.#concurrency - this.#requests;
    return served.size.limits(served, this.#tuner.tuning.producers, this.#concurrency, free);
  }

  #moved({ epochs }: ServedQueue, { samples, bytes, epoch }: Taken): void {
    const { samples: most, memoryBytes } = this.#tuner.tuning;
    const usage = Number.isFinite(most)
      ? this.#queues.readySamples / most
      : this.#memory.heldBytes / memoryBytes;
    this.#meter.usage(Math.min(100, usage * 100));
    if (samples === 0) return;
    if (epoch !== epochs.epoch) epochs.enter(epoch, this.#settings, this.#meter);
    for (const meter of [this.#meter, epochs.meter]) meter.taken(samples, bytes);
    this.#look();
  }

  #begin(queue: SampleQueue): void {
    const { upcomingBytes } = queue;
    if (upcomingBytes !== undefined) this.#tuner.begin(upcomingBytes);
  }

  /** Shows the autotuner an observation, if one is due. */
  #look(): void {
    if (!this.#tuner.isDue) return;
    // The autotuner is only told of this bound, because the user's own number is not bounded by the sources.
    const usable = Math.min(this.#queues.mostProducers, this.#usableProducers);
    this.#tuner.decide(this.#meter.observe(this.#tuner.tuning, usable));
    this.#wake();
  }
}
