import { formatBytes, type HierarchyStats } from '@tiered/core';
import type { CheckedOptions } from '../options.js';
import type { Ordering } from '../order/make-order.js';
import type { Parts } from '../order/parts.js';
import type { LoaderEpoch, LoaderStats } from './epochs.js';
import { limitOf, type EpochLimit } from './limit.js';

/** Neighbours that are looked at: enough for two digits. */
const LOOKED_AT = 100_000;

/** What was measured of one epoch, and what limited it. */
export interface EpochFigures extends LoaderEpoch {
  /** Undefined where nobody can say. */
  readonly limit: EpochLimit | undefined;
}

/** A tier as a report needs it. */
export interface TierFigures {
  readonly driver: string;
  readonly quotaBytes: number;
}

/**
 * All that a report says of a loader, in words or as a page. Plain data: it can be sent to another thread,
 * and kept as JSON, where a limit that does not exist (`Infinity`) becomes null.
 */
export interface LoaderFigures {
  /** Samples of all parts, and their bytes. Of a part with `only`, as many as its share of the samples. */
  readonly samples: number;
  readonly bytes: number;
  /** Samples of a batch of this rank. */
  readonly batchSize: number;
  readonly batchesPerEpoch: number;
  readonly rank: number;
  readonly ranks: number;
  /** Worker threads; 0 where batches are made in the loader's thread. */
  readonly workers: number;
  /** How the samples are mixed, in words. */
  readonly order: string;
  /** 1 for a full shuffle, nearly 0 for none. */
  readonly shuffleQuality: number;
  /** The last 32 epochs. The last of them may be under way. */
  readonly epochs: readonly EpochFigures[];
  /** Damaged samples that were left out. */
  readonly skipped: number;
  /** Undefined unless one rank reads the whole of one hierarchy. */
  readonly source: SourceFigures | undefined;
  /** Fastest first. Undefined where parts have different hierarchies. */
  readonly tiers: readonly TierFigures[] | undefined;
}

/** What figures are made from. */
export interface FiguresParts {
  readonly parts: Parts;
  readonly ordering: Ordering;
  readonly options: CheckedOptions;
  readonly batchesPerEpoch: number;
  readonly stats: LoaderStats;
  /** Epochs that were begun. */
  readonly begun: number;
}

/** Draws an epoch to look at its order, which takes O(samples). */
export function figuresOf({
  parts,
  ordering,
  options,
  batchesPerEpoch,
  stats,
  begun,
}: FiguresParts): LoaderFigures {
  const { batchSize, ranks, rank, workers } = options;
  const [hierarchy, ...others] = parts.hierarchies;
  const read = others.length > 0 ? undefined : hierarchy?.stats();
  const isWhole =
    ranks === 1 && parts.list.every(({ only, weight }) => only === undefined && weight === undefined);
  return {
    samples: parts.total,
    bytes: Math.round(
      parts.list.reduce(
        (sum, { samples }, i) => sum + samples.bytes * ((parts.sizes[i] ?? 0) / samples.samples),
        0,
      ),
    ),
    batchSize,
    batchesPerEpoch,
    rank,
    ranks,
    workers,
    order: orderText(ordering),
    shuffleQuality: shuffleQuality(ordering.order.of(0)),
    epochs: stats.epochs.map((epoch) => ({ ...epoch, limit: limitOf(epoch, workers) })),
    skipped: stats.skipped,
    source: isWhole && read !== undefined && begun > 0 ? sourceFiguresOf(read, begun) : undefined,
    tiers: read?.tiers.map(({ driver, quotaBytes }) => ({ driver, quotaBytes })),
  };
}

function orderText({ order, reads, windowBytes }: Ordering): string {
  if (windowBytes !== undefined)
    return `shuffled in windows of ${formatBytes(windowBytes)}; objects are read in runs of neighbours`;
  return reads === 'singly'
    ? `all ${order.length.toLocaleString('en')} samples of an epoch shuffled`
    : 'as the samples are numbered';
}

/**
 * How well an order is mixed: how far apart the numbers of samples are that follow one another, against a
 * full shuffle. There it is a third of all samples on average, and the quality is 1 to within a few percent.
 * An order that is not shuffled has a quality of nearly 0.
 */
export function shuffleQuality(order: Uint32Array): number {
  const pairs = order.length - 1;
  if (pairs < 1) return 1;
  const step = Math.max(1, Math.floor(pairs / LOOKED_AT));
  let [sum, count] = [0, 0];
  for (let i = 0; i < pairs; i += step) {
    sum += Math.abs((order[i + 1] ?? 0) - (order[i] ?? 0));
    count += 1;
  }
  // (n + 1) / 3 is what two different numbers of n differ by on average.
  return sum / count / ((order.length + 1) / 3);
}

/** What the source gave, and what it had to give. */
export interface SourceFigures {
  /** Bytes that the source has given since the hierarchy was opened. */
  readonly givenBytes: number;
  /**
   * The fewest that so many whole epochs need with these tiers, if they are empty at first: everything once,
   * and then in each epoch what does not fit. A training that was resumed, or found copies, needs fewer.
   */
  readonly leastBytes: number;
  /** Epochs that were begun. */
  readonly epochs: number;
}

/**
 * How far the reads of the source are from the least that is possible for one rank that reads everything.
 * Bytes that were on the tiers before count as if they had been fetched.
 */
function sourceFiguresOf({ tiers, source, namespace }: HierarchyStats, epochs: number): SourceFigures {
  const room = tiers.reduce((sum, { quotaBytes }) => sum + quotaBytes, 0);
  const left = Math.max(0, namespace.bytes - room);
  const leastBytes = namespace.bytes + Math.max(0, epochs - 1) * left;
  return { givenBytes: source.readBytes, leastBytes, epochs };
}
