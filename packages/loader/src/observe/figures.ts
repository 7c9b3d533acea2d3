import { formatBytes } from '@tiered/core';
import type { CheckedOptions } from '../options.js';
import type { Ordering } from '../order/make-order.js';
import type { Parts } from '../order/parts.js';
import type { LoaderEpoch, LoaderStats } from './epochs.js';
import { limitOf, type EpochLimit } from './limit.js';
import { sourceFiguresOf, type SourceFigures } from './optimum.js';
import { shuffleQuality } from './shuffle-quality.js';

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
