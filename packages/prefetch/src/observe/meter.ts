import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Clock } from '@tiered/core';
import type { Tuning, TuningObservation } from '../autotuner/autotuner.js';
import { Places, type Place, type PlaceReads } from './places.js';

/** All counts since the beginning. */
interface MeterTotals {
  readonly ms: number;
  readonly readSamples: number;
  readonly readBytes: number;
  /** Milliseconds of producers at work, summed over them. */
  readonly readMs: number;
  readonly takenSamples: number;
  readonly takenBytes: number;
  /**
   * Milliseconds in which at least one consumer waited. Then how many consumers asked before their sample was
   * ready, and for how long they waited, summed over them.
   */
  readonly starvedMs: number;
  readonly consumerWaits: number;
  readonly stallMs: number;
  readonly fullMs: number;
  /** Samples that had no room when it was their turn. */
  readonly fullTimes: number;
  readonly busyMs: number;
  readonly usageRecords: number;
  readonly usageSum: number;
  readonly usageSumOfSquares: number;
}

const US_A_MS = 1e3;
const US_A_SECOND = 1e6;

/** Counts what producers and consumers do, and how long they are idle. */
export class Meter {
  /** Microseconds that reads took. Each sample of a batch counts its share of the batch. */
  readonly durations: RecordableHistogram = createHistogram();
  readonly #clock: Clock;
  readonly #start: number;
  readonly #cpuStart = process.cpuUsage();
  readonly #totals = {
    readSamples: 0,
    readBytes: 0,
    readMs: 0,
    takenSamples: 0,
    takenBytes: 0,
    starvedMs: 0,
    consumerWaits: 0,
    stallMs: 0,
    fullMs: 0,
    fullTimes: 0,
    busyMs: 0,
    usageRecords: 0,
    usageSum: 0,
    usageSumOfSquares: 0,
  };
  /** The moment up to which times are in the totals. */
  #countedTo: number;
  #busy = 0;
  #starving = 0;
  #isFull = false;
  #observed: MeterTotals;
  readonly #places: Places;

  /**
   * @param before The meter that has counted until now. Its active producers and waiting consumers are
   * counted here from now on.
   */
  constructor(clock: Clock, before?: Meter) {
    this.#clock = clock;
    this.#start = clock.now();
    this.#countedTo = this.#start;
    this.#places = before === undefined ? new Places(this.#start) : before.#places.next(this.#start);
    if (before !== undefined) {
      this.#busy = before.#busy;
      this.#starving = before.#starving;
      this.#isFull = before.#isFull;
    }
    this.#observed = this.totals();
  }

  /**
   * Returns the reads from each place: the source, then the tiers.
   * @param longer A meter that has counted for longer. It fills in what this one has not seen.
   */
  places(longer: Meter = this): PlaceReads[] {
    return this.#places.reads(this.#clock.now(), longer.#places);
  }

  /** Processor time that the process has used since the beginning, in seconds, summed over its threads. */
  get cpuSeconds(): number {
    const { user, system } = process.cpuUsage(this.#cpuStart);
    return (user + system) / US_A_SECOND;
  }

  /** Producers at work. */
  get busy(): number {
    return this.#busy;
  }

  totals(): MeterTotals {
    this.#count();
    return { ms: this.#countedTo - this.#start, ...this.#totals };
  }

  /** Notes that a producer has begun to read this many samples. */
  began(place: Place, samples: number): void {
    this.#count();
    this.#busy += 1;
    this.#places.began(place, this.#countedTo, samples);
  }

  /** Notes that a producer has read this many samples, in this many milliseconds. */
  ended(place: Place, samples: number, bytes: number, ms: number): void {
    this.#count();
    this.#busy -= 1;
    this.#places.ended(place, this.#countedTo, samples, bytes, ms);
    this.#totals.readSamples += samples;
    this.#totals.readBytes += bytes;
    this.#totals.readMs += ms;
    const us = Math.max(1, Math.round((ms * US_A_MS) / samples));
    for (let i = 0; i < samples; i++) this.durations.record(us);
  }

  starving(change: number): void {
    this.#count();
    this.#starving += change;
    if (change > 0) this.#totals.consumerWaits += change;
  }

  /** Notes that a producer found no room for the next sample. */
  refused(): void {
    this.#totals.fullTimes += 1;
  }

  /** Whether a producer is free but has no room for its next read. */
  set full(isFull: boolean) {
    if (isFull === this.#isFull) return;
    this.#count();
    this.#isFull = isFull;
  }

  taken(samples: number, bytes: number): void {
    this.#totals.takenSamples += samples;
    this.#totals.takenBytes += bytes;
  }

  /** Adds a record of the buffer's usage. */
  usage(percent: number): void {
    this.#totals.usageRecords += 1;
    this.#totals.usageSum += percent;
    this.#totals.usageSumOfSquares += percent * percent;
  }

  /** Returns the observation since the last call. */
  observe(tuning: Tuning, usableProducers: number): TuningObservation {
    const before = this.#observed;
    const now = this.totals();
    this.#observed = now;
    const since = (field: keyof MeterTotals) => now[field] - before[field];
    const elapsedMs = since('ms');
    return {
      elapsedMs,
      tuning,
      read: { samples: since('readSamples'), bytes: since('readBytes'), ms: since('readMs') },
      taken: { samples: since('takenSamples'), bytes: since('takenBytes') },
      starvedMs: since('starvedMs'),
      fullMs: since('fullMs'),
      busyProducers: elapsedMs === 0 ? this.#busy : since('busyMs') / elapsedMs,
      usableProducers,
      usage: {
        records: since('usageRecords'),
        sum: since('usageSum'),
        sumOfSquares: since('usageSumOfSquares'),
      },
    };
  }

  #count(): void {
    const now = this.#clock.now();
    const ms = now - this.#countedTo;
    if (ms === 0) return;
    this.#countedTo = now;
    this.#totals.busyMs += this.#busy * ms;
    this.#totals.stallMs += this.#starving * ms;
    if (this.#starving > 0) this.#totals.starvedMs += ms;
    if (this.#isFull) this.#totals.fullMs += ms;
  }
}
