import { availableParallelism } from 'node:os';
import type { Tuning } from '../autotuner/autotuner.js';
import type { Meter } from './meter.js';
import type { PlaceReads } from './places.js';

/** Measurements over a span of time. */
export interface Figures {
  readonly seconds: number;
  /** Samples and bytes that consumers took. */
  readonly samples: number;
  readonly bytes: number;
  /** How long it took to read a sample, in milliseconds. */
  readonly readMs: {
    readonly mean: number;
    readonly p1: number;
    readonly p50: number;
    readonly p90: number;
    readonly p99: number;
    readonly max: number;
  };
  /** Mean number of producers at work. */
  readonly busyProducers: number;
  /**
   * How often a producer found no room for the next sample, and for how long a producer was idle for that
   * reason.
   */
  readonly producerWaits: number;
  readonly producerWaitMs: number;
  /**
   * How often a consumer asked before its sample was ready, and for how long consumers waited, summed over
   * them.
   */
  readonly consumerWaits: number;
  readonly stallMs: number;
  /** The share of the time in which a consumer waited, 0 to 1. */
  readonly starved: number;
  /** The share of all processors' time that the process used, 0 to 1. It includes the work of consumers. */
  readonly cpu: number;
  /** Reads from each place: the source, then the tiers. Places without reads may be missing. */
  readonly places: readonly PlaceReads[];
  readonly tuning: Tuning;
  readonly limits: Pick<Tuning, 'producers' | 'memoryBytes'> & {
    /**
     * Most reads that the source really makes at a time, however many producers there are. `Infinity` if
     * there is no such limit.
     */
    readonly readsAtOnce: number;
  };
}

/** The settings that were in force. */
export type Settings = Pick<Figures, 'tuning' | 'limits'>;

/**
 * Makes figures from the counts of a meter.
 * @param longer A meter that has counted for longer, to compare with.
 */
export function figuresOf(meter: Meter, settings: Settings, longer = meter): Figures {
  const { durations } = meter;
  const totals = meter.totals();
  const { ms } = totals;
  const share = (part: number) => (ms === 0 ? 0 : part / ms);
  const percentileMs = (percentile: number) =>
    durations.count === 0 ? 0 : durations.percentile(percentile) / 1000;
  return {
    seconds: ms / 1000,
    samples: totals.takenSamples,
    bytes: totals.takenBytes,
    readMs: {
      mean: totals.readSamples === 0 ? 0 : totals.readMs / totals.readSamples,
      p1: percentileMs(1),
      p50: percentileMs(50),
      p90: percentileMs(90),
      p99: percentileMs(99),
      max: durations.count === 0 ? 0 : durations.max / 1000,
    },
    busyProducers: share(totals.busyMs),
    producerWaits: totals.fullTimes,
    producerWaitMs: totals.fullMs,
    consumerWaits: totals.consumerWaits,
    stallMs: totals.stallMs,
    starved: share(totals.starvedMs),
    cpu: Math.min(1, share((meter.cpuSeconds * 1000) / availableParallelism())),
    places: meter.places(longer),
    ...settings,
  };
}
