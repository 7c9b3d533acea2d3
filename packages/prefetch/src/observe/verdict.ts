import { formatBytes, type HierarchyStats } from '@tiered/core';
import type { Figures } from './figures.js';
import type { PlaceReads } from './places.js';

/**
 * The limit of a loader's speed.
 * - `source` or `tier` is the place where producers spend most of their time. With `latency`, more reads at a
 *   time bring more. With `bandwidth` they do not, because bytes or operations are limited. The name alone
 *   means that the number of reads at a time hardly varied, so the two cannot be told apart.
 * - `source threads`: producers wait for the few reads that the driver makes at a time. The throughput of the
 *   source with more reads is unknown.
 * - `tier writes`: reads wait until tiers have written what was read before.
 */
export type Limit =
  | 'consumer'
  | 'cpu'
  | 'memory'
  | 'tier writes'
  | 'source threads'
  | 'unknown'
  | `${'source' | 'tier'}${'' | ' latency' | ' bandwidth'}`;

/** The limit of a loader, and what would change it. */
export interface Verdict {
  readonly limit: Limit;
  /** A few sentences, with the figures behind them. */
  readonly text: string;
  /** The tier whose reads are the limit, if one is. */
  readonly level?: number;
  /**
   * Why the source is still read from, if it is the limit in spite of tiers: they are `full`, or too `slow`
   * to be filled as fast as the source is read.
   */
  readonly tiers?: 'full' | 'slow';
}

/** The figures that a verdict is made from. */
type Measured = Omit<Figures, 'readMs'>;

/**
 * Waiting for up to this share of the time does not matter. It is the aim for a consumer that computes 1.2
 * times as long as its reads take.
 */
const HARDLY_STARVED = 0.05;
/** Processors that are busier than this have nothing left to give. */
const CPU_BUSY = 0.85;
/** If producers are idle for more than this share of the time, they have too little memory. */
const OFTEN_FULL = 0.2;
/** Throughput hardly rises if it rises with a lower power of the reads in flight. */
const RISES = 0.5;
/** Misses change little if they are fewer than this share of the source's reads. */
const OFTEN_MISSED = 0.1;
/** If at least this share of the source's reads waited to fill tiers, the tiers set the pace. */
const OFTEN_WAITED = 0.5;
/**
 * If there are more reads than the driver makes at a time, by this factor, some always wait for the others.
 */
const CLEARLY_MORE = 1.1;
/** Fewer samples say nothing. */
const FEWEST_SAMPLES = 8;

/**
 * Says what limits a loader with these figures.
 * @param stats The counts of the hierarchy in the same time, if it has any.
 */
export function verdictOf(measured: Measured, stats?: HierarchyStats): Verdict {
  const { starved, samples, cpu, seconds, producerWaitMs, tuning, limits, places } = measured;
  const waited = `Consumers waited ${percent(starved)} of the time`;
  if (samples < FEWEST_SAMPLES)
    return {
      limit: 'unknown',
      text: `Only ${samples} samples were taken: too few to say what limits the loader.`,
    };
  if (starved <= HARDLY_STARVED) {
    return {
      limit: 'consumer',
      text: `${waited}: the computing is the limit, and reading keeps up with it. Faster storage would change nothing.`,
    };
  }
  if (cpu >= CPU_BUSY) {
    return {
      limit: 'cpu',
      text: `${waited}, and the processors were ${percent(cpu)} busy: they are the limit. Spread the work over more cores, or read larger objects.`,
    };
  }
  if (producerWaitMs / 1000 > seconds * OFTEN_FULL && tuning.memoryBytes >= limits.memoryBytes) {
    return {
      limit: 'memory',
      text: `${waited}, and producers had no room for ${percent(producerWaitMs / 1000 / seconds)} of it: the memory of ${formatBytes(limits.memoryBytes)} is the limit. Give the prefetcher more, or release samples earlier.`,
    };
  }
  const slowest = places.reduce<PlaceReads | undefined>(
    (most, one) => (one.producerMs > (most?.producerMs ?? 0) ? one : most),
    undefined,
  );
  if (slowest === undefined)
    return { limit: 'unknown', text: `${waited}, and nothing was read: it had all been read before.` };
  const verdict = ofPlace(measured, slowest, waited);
  return stats === undefined || slowest.level !== undefined ? verdict : withTiers(verdict, stats, waited);
}

/** Says what limits a loader that waits for the source, or for a tier. */
function ofPlace(
  { seconds, busyProducers, tuning, limits, places }: Measured,
  place: PlaceReads,
  waited: string,
): Verdict {
  const { level, samples, bytes, readMs, underWay, scaling } = place;
  const which = level === undefined ? 'source' : 'tier';
  const name = level === undefined ? 'the source' : `tier ${level}`;
  const all = places.reduce((sum, one) => sum + one.samples, 0);
  const part = samples === all ? '' : `, which gives ${percent(samples / all)} of the samples,`;
  const times = `a read of ${name}${part} takes ${ms(readMs)} with ${underWay.toFixed(1)} under way`;
  const where = level === undefined ? {} : { level };
  // The samples of a batch are one read here: there are few batches at a time, and a driver has threads of
  // its own for them.
  const atOnce = Math.min(underWay, busyProducers);
  const { readsAtOnce } = limits;
  if (level === undefined && atOnce > CLEARLY_MORE * readsAtOnce)
    return {
      limit: 'source threads',
      text: `${waited}, and ${times}, of which its driver makes only ${readsAtOnce} at a time: the others wait for their turn, and more producers would too. Let the driver make more: of files by @tiered/native (nativeThreads), or a larger UV_THREADPOOL_SIZE; otherwise by its options. Larger objects, or a tier that holds the data, would help too.`,
    };
  if (scaling === undefined)
    return {
      ...where,
      limit: which,
      text: `${waited}, and ${times}. There were never clearly fewer or more of them, so nobody can say whether more at a time would help: let the autotuner choose producers, or compare ${tuning.producers} with ${2 * tuning.producers}.`,
    };
  if (scaling < RISES)
    return {
      ...where,
      limit: `${which} bandwidth`,
      text: `${waited}, and ${times}: it gives ${formatBytes(Math.round(bytes / seconds))}/s in ${rounded(samples / seconds)} reads/s, and no more with more reads at a time. A faster tier that holds the data, or smaller data, would help, and larger objects where it is reads that are bounded; more producers would not.`,
    };
  const most =
    tuning.producers >= limits.producers
      ? `, the most that is allowed: raise concurrency${threadsToo(limits)}`
      : '';
  return {
    ...where,
    limit: `${which} latency`,
    text: `${waited}, and ${times}: each read waits for ${name}, not for the others. More reads at a time have helped so far, and are worth a try (${tuning.producers} now${most}), or larger objects, or a faster tier that holds the data.`,
  };
}

/**
 * Adds to a verdict on the source why tiers do not take its place, if they fail to. If reads wait for the
 * writes of tiers, these are the limit.
 */
function withTiers(verdict: Verdict, { source, placement, tiers }: HierarchyStats, waited: string): Verdict {
  const { declined, behind, waited: waits } = placement;
  const all = `(the source had ${grouped(source.reads)} requests in all)`;
  if (waits > 0 && waits >= source.reads * OFTEN_WAITED)
    return {
      limit: 'tier writes',
      text: `${waited}, and ${grouped(waits)} of the reads that fill tiers waited until these had written what came before ${all}: the writes of tiers are the limit. A faster tier would help, or whenBehind: 'goOn', which reads on and fills the tiers later.`,
      tiers: 'slow',
    };
  const missed = Math.max(declined, behind);
  if (missed === 0 || missed < source.reads * OFTEN_MISSED) return verdict;
  if (behind > declined) {
    const why = `The tier cannot keep up with the source: its writes limit how fast it fills. The objects of ${grouped(behind)} reads could not be brought to it at once, and come later ${all}. A faster tier would have them sooner.`;
    return { ...verdict, text: `${verdict.text} ${why}`, tiers: 'slow' };
  }
  const why = `No tier had room for the objects of ${grouped(declined)} reads, which every epoch reads from the source ${all}${roomText(tiers)}. Larger tiers would hold them.`;
  return { ...verdict, text: `${verdict.text} ${why}`, tiers: 'full' };
}

/** Says what the apparent room of tiers is reserved for. */
function roomText(tiers: HierarchyStats['tiers']): string {
  const sum = (of: (tier: HierarchyStats['tiers'][number]) => number) =>
    formatBytes(tiers.reduce((bytes, tier) => bytes + of(tier), 0));
  if (tiers.every(({ reservedBytes }) => reservedBytes === 0)) return '';
  return `: of ${sum(({ quotaBytes }) => quotaBytes)} they hold ${sum(({ usedBytes }) => usedBytes)}, and ${sum(({ reservedBytes }) => reservedBytes)} are promised to copies on their way`;
}

/** Says what to raise beside the budget of requests. */
function threadsToo({ producers, readsAtOnce }: Measured['limits']): string {
  return producers < readsAtOnce ? '' : `, and the ${readsAtOnce} reads that the driver makes at a time`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

/** As reports write counts: 6,638. */
function grouped(value: number): string {
  return value.toLocaleString('en');
}

/** Formats with at least two digits, and without an exponent. */
function rounded(value: number): string {
  return value < 10 ? value.toPrecision(2) : grouped(Math.round(value));
}

function ms(value: number): string {
  return `${rounded(value)} ms`;
}
