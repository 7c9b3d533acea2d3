import { formatBytes } from '@tiered/core';
import type { CheckedOptions } from '../options.js';
import type { Ordering } from '../order/make-order.js';
import type { Parts } from '../order/parts.js';
import type { LoaderEpoch, LoaderStats } from './epochs.js';
import { optimumOf } from './optimum.js';
import { shuffleQuality } from './shuffle-quality.js';

/** Where less than this part of the time was waited, batches were there in time. */
const HARDLY = 0.05;

/** What a report is made from. */
export interface ReportParts {
  readonly parts: Parts;
  readonly ordering: Ordering;
  readonly options: CheckedOptions;
  readonly stats: LoaderStats;
}

/** Says in words what a loader did. */
export function reportOf({ parts, ordering, options, stats }: ReportParts): string {
  const { batchSize, ranks, rank, workers } = options;
  const bytes = parts.list.reduce((sum, { samples }) => sum + samples.bytes, 0);
  const who = ranks === 1 ? '' : `, rank ${rank} of ${ranks}`;
  const by = workers === 0 ? 'in this thread' : `by ${count(workers, 'worker')}`;
  return [
    `samples: ${count(parts.total, 'sample')}, ${formatBytes(bytes)}; batches of ${batchSize}${who}, made ${by}`,
    `order: ${orderText(ordering)}; shuffle quality ${shuffleQuality(ordering.order.of(0)).toFixed(2)}`,
    ...stats.epochs.map(epochText),
    ...(stats.skipped === 0 ? [] : [`damage: ${count(stats.skipped, 'sample')} left out`]),
    ...sourceText(parts, ranks, stats.epochs),
    ...limitText(stats.epochs.at(-1), workers),
  ].join('\n');
}

function orderText({ order, reads, windowBytes }: Ordering): string {
  if (windowBytes !== undefined)
    return `shuffled in windows of ${formatBytes(windowBytes)}; objects are read in runs of neighbours`;
  return reads === 'singly'
    ? `all ${count(order.length, 'sample')} of an epoch shuffled`
    : 'as the samples are numbered';
}

function epochText({ epoch, batches, samples, seconds, waitedSeconds, reading }: LoaderEpoch): string {
  const rate = seconds === 0 ? '' : `, ${count(Math.round(samples / seconds), 'sample')}/s`;
  const levels = reading?.levels.filter((level) => level.bytes > 0) ?? [];
  const read = levels.reduce((sum, level) => sum + level.bytes, 0);
  const from = levels.map((level) => `${percent(level.bytes / read)} from ${level.driver}`);
  const waited = seconds === 0 ? 0 : waitedSeconds / seconds;
  return (
    `epoch ${epoch}: ${count(batches, 'batch', 'batches')}, ${count(samples, 'sample')} in ${seconds.toFixed(1)} s${rate}; ` +
    `waited ${percent(waited)} of the time${from.length === 0 ? '' : `; ${formatBytes(read)} read: ${from.join(', ')}`}`
  );
}

/** Where one rank reads the whole of a hierarchy, what was read can be compared with what had to be. */
function sourceText(parts: Parts, ranks: number, epochs: readonly LoaderEpoch[]): string[] {
  const [hierarchy, ...others] = new Set(parts.list.map(({ samples }) => samples.hierarchy));
  const isWhole =
    ranks === 1 && parts.list.every(({ only, weight }) => only === undefined && weight === undefined);
  if (hierarchy === undefined || others.length > 0 || !isWhole || epochs.length === 0) return [];
  const { sourceBytes, leastBytes } = optimumOf(hierarchy.stats(), epochs.length);
  const given = `source: gave ${formatBytes(sourceBytes)}`;
  if (sourceBytes <= leastBytes)
    return [`${given}, no more than these tiers need for ${count(epochs.length, 'epoch')}`];
  return [
    `${given}; with these tiers ${formatBytes(leastBytes)} would do for ${count(epochs.length, 'epoch')}`,
  ];
}

function limitText(latest: LoaderEpoch | undefined, workers: number): string[] {
  if (latest === undefined || latest.seconds === 0) return [];
  const { seconds, waitedSeconds, reading } = latest;
  if (waitedSeconds / seconds < HARDLY)
    return ['limit: the training itself: batches were there before it asked.'];
  if (reading === undefined) return [];
  // The reading waits for nobody where batches cannot be made fast enough.
  if (reading.starved < HARDLY) {
    const advice = workers === 0 ? 'Give the loader workers' : 'Give the loader more workers';
    return [
      `limit: decoding, transform and collate: samples were there before they were asked for. ${advice}.`,
    ];
  }
  return [`limit: ${reading.verdict.text}`];
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`;
}
