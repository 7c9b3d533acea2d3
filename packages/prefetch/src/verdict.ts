import { formatBytes, type PlacementStats } from '@tiered/core';
import type { Profile } from './profile.js';

/** What keeps a loader from going faster. */
export type Limit = 'consumer' | 'source latency' | 'source bandwidth' | 'memory' | 'cpu' | 'unknown';

/** What limits a loader, and what would change it. */
export interface Verdict {
  readonly limit: Limit;
  /** Some sentences with the figures behind it. */
  readonly text: string;
  /**
   * Where the source is the limit though there are tiers, why it is still read from: they are `full`, or too `slow` to be filled as
   * fast as the source is read.
   */
  readonly tiers?: 'full' | 'slow';
}

/** Reads of the source, and those among them whose object was not brought to a tier. */
export interface Misses extends Pick<PlacementStats, 'declined'> {
  readonly sourceReads: number;
  /** Brought later, because tiers are slower than the source. Missing where a placement does not tell. */
  readonly behind?: number;
}

/** Waiting that nobody would notice: the aim for a consumer that computes 1.2 times as long as its reads take. */
const HARDLY_STARVED = 0.05;
/** Processors that are busier than this have nothing left to give. */
const CPU_BUSY = 0.85;
/** Producers that stand still for more of the time that consumers wait have too little memory. */
const OFTEN_FULL = 0.2;
/** Reads that take this many times what the fastest take queue behind each other: more of them would queue longer. */
const QUEUEING = 2.5;
/** What is missed less often than this share of the source's reads changes little. */
const OFTEN_MISSED = 0.1;
/** Fewer samples say nothing. */
const FEWEST_SAMPLES = 8;

/** Reads a profile as an engineer would. */
export function verdictOf(profile: Omit<Profile, 'verdict'>): Verdict {
  const { starved, samples, cpu, seconds, producerWaitMs, readMs, tuning, limits, busyProducers } = profile;
  const waited = `Consumers waited ${percent(starved)} of the time`;
  const rate = seconds === 0 ? 0 : profile.bytes / seconds;
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
  const times = `a read takes ${ms(readMs.p50)} with ${busyProducers.toFixed(1)} under way, ${ms(readMs.p1)} at best`;
  if (readMs.p50 > QUEUEING * readMs.p1 && busyProducers > 1) {
    return {
      limit: 'source bandwidth',
      text: `${waited}, and ${times}: the source gives ${formatBytes(Math.round(rate))}/s and no more. A faster tier that holds the data, or smaller data, would help; more producers would not.`,
    };
  }
  const most = tuning.producers >= limits.producers ? `, the most that is allowed: raise maxProducers` : '';
  return {
    limit: 'source latency',
    text: `${waited}, and ${times}: each read waits for the source, not for the others. More reads at a time would help (${tuning.producers} now${most}), or larger objects, or a tier that holds the data.`,
  };
}

/** Says beside a verdict on the source why tiers do not take its place, if that is what it comes to. */
export function withTiers(verdict: Verdict, { sourceReads, declined, behind = 0 }: Misses): Verdict {
  const isSource = verdict.limit === 'source latency' || verdict.limit === 'source bandwidth';
  const missed = Math.max(declined, behind);
  if (!isSource || missed === 0 || missed < sourceReads * OFTEN_MISSED) return verdict;
  const all = `(the source had ${sourceReads} requests in all)`;
  if (behind > declined) {
    const why = `The tier cannot keep up with the source: its writes limit how fast it fills. The objects of ${behind} reads could not be brought to it at once, and come later ${all}. A faster tier would have them sooner.`;
    return { ...verdict, text: `${verdict.text} ${why}`, tiers: 'slow' };
  }
  const why = `No tier had room for the objects of ${declined} reads, which every epoch reads from the source ${all}. Larger tiers would hold them.`;
  return { ...verdict, text: `${verdict.text} ${why}`, tiers: 'full' };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

function ms(value: number): string {
  return `${value.toPrecision(2)} ms`;
}
