/**
 * A prefetcher with its source and its consumer, as a discrete-event simulation: the same run each time,
 * hours in a second. Samples are read in order by producers, wait in memory, and are taken in order by one
 * consumer.
 */
import type { Autotuner, Tuning, TuningLimits, TuningObservation } from '@tiered/prefetch/autotuner';
import type { Source } from './sources.js';

export interface Workload {
  /** The source of the sample at this position, and its size. */
  readonly source: (position: number) => Source;
  readonly bytes: (position: number) => number;
  readonly samples: number;
  /** Milliseconds of work that the consumer does on a list of so many samples. Default: none, one by one. */
  readonly consumer?: (position: number) => { readonly batch: number; readonly ms: number };
}

interface Decided {
  readonly atMs: number;
  /** Samples that had been taken. */
  readonly taken: number;
  readonly tuning: Tuning;
  readonly reason: string;
}

export interface Run {
  /** When each sample was taken. */
  readonly takenAt: readonly number[];
  /** Every decision, those to leave things as they are too. */
  readonly decisions: readonly Decided[];
}

/** Runs the workload to its end, tuned. */
export function simulate(workload: Workload, tuner: Autotuner, limits: TuningLimits): Run {
  return new Simulation(workload, tuner, limits).run();
}

interface Event {
  readonly at: number;
  readonly happen: () => void;
}

class Simulation {
  readonly #workload: Workload;
  readonly #tuner: Autotuner;
  readonly #events: Event[] = [];
  readonly #takenAt: number[] = [];
  readonly #decisions: Decided[] = [];
  #now = 0;
  #tuning: Tuning;
  #nextRead = 0;
  #underWay = 0;
  #usedBytes = 0;
  readonly #ready = new Set<number>();
  #waits = true;
  #noRoom = false;
  #gathered = 0;
  #seen = nothingSeen();

  constructor(workload: Workload, tuner: Autotuner, limits: TuningLimits) {
    this.#workload = workload;
    this.#tuner = tuner;
    const { tuning, nextInMs, reason } = tuner.begin({ ...limits, objectBytes: workload.bytes(0) });
    this.#tuning = tuning;
    this.#decided(reason, nextInMs);
  }

  run(): Run {
    this.#startReads();
    while (this.#takenAt.length < this.#workload.samples) {
      const event = this.#events.pop();
      if (event === undefined) throw new Error('the simulation stands still');
      this.#pass(event.at - this.#now);
      this.#now = event.at;
      event.happen();
      this.#consume();
      this.#startReads();
    }
    return { takenAt: this.#takenAt, decisions: this.#decisions };
  }

  /** The latest first, so that the next is at the end. */
  #at(at: number, happen: () => void): void {
    let index = this.#events.length;
    while (index > 0 && (this.#events[index - 1]?.at ?? Infinity) <= at) index--;
    this.#events.splice(index, 0, { at, happen });
  }

  #pass(ms: number): void {
    const seen = this.#seen;
    seen.elapsedMs += ms;
    seen.busyMs += ms * this.#underWay;
    if (this.#waits) seen.starvedMs += ms;
    if (this.#noRoom) seen.fullMs += ms;
  }

  #startReads(): void {
    const { samples, bytes, source } = this.#workload;
    this.#noRoom = false;
    while (this.#underWay < this.#tuning.producers && this.#nextRead < samples) {
      const position = this.#nextRead;
      const size = bytes(position);
      const stored = this.#ready.size + this.#gathered;
      const most = Math.min(stored, this.#tuning.samples) + this.#tuning.producers;
      const fits =
        this.#usedBytes === 0 ||
        (this.#usedBytes + size <= this.#tuning.memoryBytes && stored + this.#underWay < most);
      this.#noRoom = !fits;
      if (!fits) return;
      this.#nextRead++;
      this.#underWay++;
      this.#usedBytes += size;
      this.#read(position, size, source(position));
    }
  }

  #read(position: number, size: number, source: Source): void {
    const startedAt = this.#now;
    const end = () => {
      this.#underWay--;
      this.#ready.add(position);
      this.#seen.read.samples++;
      this.#seen.read.bytes += size;
      this.#seen.read.ms += this.#now - startedAt;
      this.#record();
    };
    // What is shared is booked when the latency is over, in the order in which reads get there.
    this.#at(startedAt + source.latencyMs(), () => this.#at(source.sharedUntil(this.#now, size), end));
  }

  #consume(): void {
    while (this.#waits && this.#takenAt.length < this.#workload.samples) {
      const position = this.#takenAt.length;
      if (!this.#ready.delete(position)) return;
      this.#takenAt.push(this.#now);
      this.#gathered++;
      const size = this.#workload.bytes(position);
      this.#seen.taken.samples++;
      this.#seen.taken.bytes += size;
      this.#record();
      const { batch, ms } = this.#workload.consumer?.(position) ?? { batch: 1, ms: 0 };
      // Samples of a list are lent until the work on it is done; memory is free as soon as they are taken.
      this.#usedBytes -= size;
      if (this.#gathered < batch) continue;
      this.#gathered = 0;
      if (ms === 0) continue;
      this.#waits = false;
      this.#at(this.#now + ms, () => {
        this.#waits = true;
      });
    }
  }

  #record(): void {
    const { samples, memoryBytes } = this.#tuning;
    const percent =
      100 * (Number.isFinite(samples) ? this.#ready.size / samples : this.#usedBytes / memoryBytes);
    this.#seen.usage.records++;
    this.#seen.usage.sum += percent;
    this.#seen.usage.sumOfSquares += percent ** 2;
  }

  #tune(): void {
    const { busyMs, ...seen } = this.#seen;
    const busyProducers = seen.elapsedMs > 0 ? busyMs / seen.elapsedMs : 0;
    const observation: TuningObservation = {
      ...seen,
      tuning: this.#tuning,
      busyProducers,
      usableProducers: Infinity,
    };
    this.#seen = nothingSeen();
    const { tuning, nextInMs, reason } = this.#tuner.decide(observation);
    this.#tuning = tuning;
    this.#decided(reason, nextInMs);
  }

  #decided(reason: string, nextInMs: number | undefined): void {
    this.#decisions.push({ atMs: this.#now, taken: this.#takenAt.length, tuning: this.#tuning, reason });
    // Timers have whole milliseconds, and fire late.
    if (nextInMs !== undefined)
      this.#at(this.#now + Math.max(1, Math.ceil(nextInMs)) + 0.2, () => this.#tune());
  }
}

function nothingSeen() {
  return {
    elapsedMs: 0,
    busyMs: 0,
    starvedMs: 0,
    fullMs: 0,
    read: { samples: 0, bytes: 0, ms: 0 },
    taken: { samples: 0, bytes: 0 },
    usage: { records: 0, sum: 0, sumOfSquares: 0 },
  };
}
