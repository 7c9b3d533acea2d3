import { fetchFromSource, write, type Assumptions, type SystemModel } from '../model/model.js';
import { StagingRing } from './staging-ring.js';
import { NOWHERE } from '../strategies/strategy.js';

/** The sample was fetched from the source. */
export const FROM_SOURCE = 0;
/** The sample was fetched from a storage class of another worker. */
const FROM_REMOTE = 1;
/** The sample was fetched from a storage class of the worker's own. */
export const FROM_LOCAL = 2;

const MB = 1e6;
/**
 * The part of the known load of the source that is kept from one global batch to the next, so that about ten
 * batches count.
 */
const MEMORY = 0.9;

/**
 * The clocks of all workers (section 4): the prefetch threads that fill the staging buffer in the order of
 * access, the source that they share, and the consumer behind them. Each access costs a few arithmetic
 * operations and no memory. The accesses of a worker must come in its order, and those of all workers step by
 * step.
 */
export class Timeline {
  /**
   * The time at which the consumer is done with its samples, in seconds. It may get its next sample later,
   * never earlier.
   */
  readonly done: Float64Array;
  /** Seconds that consumers spent on training. */
  readonly busy: Float64Array;
  readonly #system: SystemModel;
  readonly #assumptions: Assumptions;
  readonly #rings: readonly StagingRing[];
  /** When each prefetch thread is free. */
  readonly #threads: readonly Float64Array[];
  /** When each worker's share of the source is free. */
  readonly #lanes: Float64Array;
  /** Seconds per byte from the source, at the current gamma. */
  readonly #sourceCost: Float64Array;
  /** Seconds per byte that is brought to a level of the worker, by level. */
  readonly #placeCosts: readonly Float64Array[];
  readonly #writeCost: number;
  readonly #computeCost: number;
  /**
   * When a worker began its last fetch; the same at the last update of gamma; seconds of reading the source
   * since then.
   */
  readonly #fronts: Float64Array;
  readonly #lastFronts: Float64Array;
  readonly #reading: Float64Array;
  /** Averages over the last batches: seconds of reading the source, and seconds altogether. */
  readonly #readingLately: Float64Array;
  readonly #secondsLately: Float64Array;
  /** Seconds of the last fetch, without waiting for a share of the source. */
  fetched = 0;
  /** When the last sample was in the staging buffer. */
  available = 0;
  /** Whether the last sample was assumed to have a copy, and had none. */
  misjudged = false;

  constructor(system: SystemModel, assumptions: Assumptions) {
    const { workers, staging } = system;
    const perWorker = () => new Float64Array(workers);
    this.#system = system;
    this.#assumptions = assumptions;
    this.#rings = Array.from({ length: workers }, () => new StagingRing(staging.capacityMB * MB));
    this.#threads = Array.from({ length: workers }, () => new Float64Array(staging.threads));
    this.#lanes = perWorker();
    this.done = perWorker();
    this.busy = perWorker();
    this.#fronts = perWorker();
    this.#lastFronts = perWorker();
    this.#reading = perWorker();
    this.#readingLately = perWorker();
    this.#secondsLately = perWorker();
    this.#sourceCost = perWorker();
    this.#placeCosts = system.levels.map(perWorker);
    // Training begins with all workers reading the source.
    for (let worker = 0; worker < workers; worker++) this.#setGamma(worker, workers);
    this.#writeCost = write(system, 1) / MB;
    this.#computeCost = 1 / system.computeMBps / MB;
  }

  /** Lets all workers fetch something before training begins, and wait for each other. */
  stage(bytesOfWorkers: Float64Array): void {
    const most = Math.max(...bytesOfWorkers);
    const seconds = fetchFromSource(this.#system, most / MB, this.#system.workers);
    for (const times of [this.done, this.#lanes, this.#fronts, this.#lastFronts, ...this.#threads])
      times.fill(seconds);
  }

  /** Consumes a sample that is available as soon as it is requested. */
  perfect(worker: number, bytes: number): void {
    this.#consume(worker, bytes, 0);
  }

  /**
   * Reads a sample from the source only when it is requested, with one thread, while all others do the same.
   */
  blocking(worker: number, bytes: number): void {
    this.fetched = bytes * (this.#sourceCost[worker] ?? 0);
    this.#consume(worker, bytes, (this.done[worker] ?? 0) + this.fetched + bytes * this.#writeCost);
  }

  /**
   * Fetches a sample ahead, from the fastest place that has it.
   * @param worker The worker that accesses it.
   * @param bytes Size of the sample.
   * @param local Seconds per byte from a storage class of the worker's own; Infinity if none has it.
   * @param remote Seconds per byte from another worker; Infinity if none has it.
   * @param level The level it is brought to if it comes from the source, or `NOWHERE`.
   * @param since When the copy behind `remote` arrived. A worker that begins before that finds none, and
   * reads the source. It knows its own copies.
   * @returns `FROM_SOURCE`, `FROM_REMOTE` or `FROM_LOCAL`.
   */
  prefetched(
    worker: number,
    bytes: number,
    local: number,
    remote: number,
    level: number,
    since: number,
  ): number {
    const threads = this.#threads[worker] as Float64Array;
    const thread = firstFree(threads);
    const room = (this.#rings[worker] as StagingRing).roomFor(bytes);
    const start = Math.max(threads[thread] ?? 0, room, this.#fronts[worker] ?? 0);
    this.#fronts[worker] = start;
    const isThere = start >= since;
    const fromLocal = bytes * local;
    const fromRemote = isThere ? bytes * remote : Infinity;
    const sourceCost = level === NOWHERE ? this.#sourceCost : (this.#placeCosts[level] ?? this.#sourceCost);
    const fromSource = bytes * (sourceCost[worker] ?? 0);
    const wait =
      this.#assumptions.sourceShare === 'thread' ? 0 : Math.max(0, (this.#lanes[worker] ?? 0) - start);
    let from = FROM_SOURCE;
    let seconds = wait + fromSource;
    this.misjudged = !isThere && bytes * remote <= Math.min(seconds, fromLocal);
    this.fetched = fromSource;
    if (fromLocal <= seconds && !(fromRemote < fromLocal)) {
      from = FROM_LOCAL;
      seconds = this.fetched = fromLocal;
    } else if (fromRemote <= seconds) {
      from = FROM_REMOTE;
      seconds = this.fetched = fromRemote;
    } else {
      this.#lanes[worker] = start + seconds;
      this.#reading[worker] = (this.#reading[worker] ?? 0) + fromSource;
    }
    const available = start + seconds + bytes * this.#writeCost;
    threads[thread] = available;
    this.available = available;
    this.#consume(worker, bytes, available);
    (this.#rings[worker] as StagingRing).push(bytes, this.done[worker] ?? 0);
    return from;
  }

  /** Updates how many workers read from the source at a time. Call it once for each global batch. */
  updateGamma(): void {
    const { workers } = this.#system;
    if (this.#assumptions.gamma === 'all' || workers === 1) return;
    let together = 0;
    for (let worker = 0; worker < workers; worker++) {
      const front = this.#fronts[worker] ?? 0;
      const seconds = front - (this.#lastFronts[worker] ?? 0);
      this.#lastFronts[worker] = front;
      this.#readingLately[worker] =
        (this.#readingLately[worker] ?? 0) * MEMORY + (this.#reading[worker] ?? 0);
      this.#secondsLately[worker] = (this.#secondsLately[worker] ?? 0) * MEMORY + seconds;
      this.#reading[worker] = 0;
      together += this.#share(worker);
    }
    for (let worker = 0; worker < workers; worker++) {
      this.#setGamma(worker, 1 + together - this.#share(worker));
    }
  }

  #setGamma(worker: number, gamma: number): void {
    this.#sourceCost[worker] = fetchFromSource(this.#system, 1, gamma) / MB;
    for (const [level, costs] of this.#placeCosts.entries())
      costs[worker] = fetchFromSource(this.#system, 1, gamma, this.#system.levels[level]) / MB;
  }

  /** The part of its time in which a worker reads from the source. */
  #share(worker: number): number {
    const reading = this.#readingLately[worker] ?? 0;
    const seconds = this.#secondsLately[worker] ?? 0;
    return reading === 0 ? 0 : reading >= seconds ? 1 : reading / seconds;
  }

  #consume(worker: number, bytes: number, available: number): void {
    const training = bytes * this.#computeCost;
    this.done[worker] = Math.max(available, this.done[worker] ?? 0) + training;
    this.busy[worker] = (this.busy[worker] ?? 0) + training;
  }
}

function firstFree(threads: Float64Array): number {
  let first = 0;
  for (let thread = 1; thread < threads.length; thread++) {
    if ((threads[thread] ?? 0) < (threads[first] ?? 0)) first = thread;
  }
  return first;
}
