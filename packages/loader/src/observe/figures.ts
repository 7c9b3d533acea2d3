import { formatBytes, type HierarchyStats } from '@tiered/core';
import type { CheckedOptions } from '../options.js';
import type { Ordering } from '../order/make-order.js';
import type { Parts } from '../order/parts.js';
import type { LoaderEpoch, LoaderStats } from './epochs.js';
import { limitOf, type EpochLimit } from './limit.js';

/** Neighbours that are compared: enough for two digits. */
const LOOKED_AT = 100_000;

/** Measurements of one epoch, and its limit. */
export interface EpochFigures extends LoaderEpoch {
  /** Undefined if it cannot be determined. */
  readonly limit: EpochLimit | undefined;
}

/** A tier in a report. */
export interface TierFigures {
  readonly driver: string;
  readonly quotaBytes: number;
}

/**
 * The data of a loader's report, in words or as a page. It is plain data that can be sent to another thread,
 * and saved as JSON, where a missing limit (`Infinity`) becomes null.
 */
export interface LoaderFigures {
  /**
   * Samples of all parts, and their bytes. The bytes of a part with `only` are in proportion to its samples.
   */
  readonly samples: number;
  readonly bytes: number;
  /** Samples of a batch of this rank. */
  readonly batchSize: number;
  readonly batchesPerEpoch: number;
  readonly rank: number;
  readonly ranks: number;
  /** Worker threads; 0 if batches are made in the loader's thread. */
  readonly workers: number;
  /** The order of the samples, in words. */
  readonly order: string;
  /** 1 for a full shuffle, nearly 0 for none. */
  readonly shuffleQuality: number;
  /** The last 32 epochs. The last one may be in progress. */
  readonly epochs: readonly EpochFigures[];
  /** Damaged samples that were left out. */
  readonly skipped: number;
  /** Undefined unless one rank reads the whole of one hierarchy. */
  readonly source: SourceFigures | undefined;
  /** Fastest first. Undefined if parts have different hierarchies. */
  readonly tiers: readonly TierFigures[] | undefined;
}

/** Inputs of figures. */
export interface FiguresParts {
  readonly parts: Parts;
  readonly ordering: Ordering;
  readonly options: CheckedOptions;
  readonly batchesPerEpoch: number;
  readonly stats: LoaderStats;
  /** Epochs that have begun. */
  readonly begun: number;
}

/** Makes the figures. Draws an epoch to inspect its order, which takes O(samples). */
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
 * Measures how well an order is shuffled: the distance between the numbers of consecutive samples, relative
 * to a full shuffle. There the average distance is a third of all samples, and the quality is 1 to within a
 * few percent. An unshuffled order has a quality of nearly 0.
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
  // (n + 1) / 3 is the average difference of two different numbers of n.
  return sum / count / ((order.length + 1) / 3);
}

/** Bytes that the source served, and bytes that it had to serve. */
export interface SourceFigures {
  /** Bytes that the source has served since the hierarchy was opened. */
  readonly givenBytes: number;
  /**
   * The fewest bytes that this many whole epochs need with these tiers, if they are empty at first:
   * everything once, and then in each epoch the bytes that do not fit. A training that was resumed, or found
   * copies, needs fewer.
   */
  readonly leastBytes: number;
  /** Epochs that have begun. */
  readonly epochs: number;
}

/**
 * Compares the source's reads with the minimum for one rank that reads everything. Bytes that were on the
 * tiers before count as fetched.
 */
function sourceFiguresOf({ tiers, source, namespace }: HierarchyStats, epochs: number): SourceFigures {
  const room = tiers.reduce((sum, { quotaBytes }) => sum + quotaBytes, 0);
  const left = Math.max(0, namespace.bytes - room);
  const leastBytes = namespace.bytes + Math.max(0, epochs - 1) * left;
  return { givenBytes: source.readBytes, leastBytes, epochs };
}
