import { formatBytes } from '@tiered/core';
import { hitRatioOf } from '@tiered/prefetch';
import type { EpochFigures, LoaderFigures, SourceFigures } from './figures.js';
import { limitsOf, type LimitedEpochs } from './limit.js';

/** Describes in words what a loader did. */
export function reportOf(figures: LoaderFigures): string {
  const { samples, bytes, batchSize, rank, ranks, workers, order, epochs, skipped, source } = figures;
  const who = ranks === 1 ? '' : `, rank ${rank} of ${ranks}`;
  const by = workers === 0 ? 'in this thread' : `by ${count(workers, 'worker')}`;
  return [
    `data: ${count(samples, 'sample')}, ${formatBytes(bytes)}; batches of ${batchSize}${who}, made ${by}`,
    `order: ${order}; shuffle quality ${figures.shuffleQuality.toFixed(2)}`,
    ...epochs.map(epochText),
    ...(skipped === 0 ? [] : [`damage: ${count(skipped, 'sample')} left out`]),
    ...(source === undefined ? [] : [sourceText(source, isUnderWay(figures))]),
    ...limitTexts(epochs),
  ].join('\n');
}

/** One line for each group of epochs with the same limit. */
function limitTexts(epochs: readonly EpochFigures[]): string[] {
  const limits = limitsOf(epochs);
  return limits.map((limit) => `limit${limits.length === 1 ? '' : of(limit)}: ${limit.text}`);
}

function of({ first, last }: LimitedEpochs): string {
  return first === last ? ` of epoch ${first}` : ` of epochs ${first} to ${last}`;
}

function epochText({ epoch, batches, samples, seconds, waitedSeconds, reading }: EpochFigures): string {
  const rate = seconds === 0 ? '' : `, ${count(Math.round(samples / seconds), 'sample')}/s`;
  const levels = reading?.levels.filter((level) => level.bytes > 0) ?? [];
  const read = levels.reduce((sum, level) => sum + level.bytes, 0);
  const from = levels.map((level) => `${percent(level.bytes / read)} from ${level.driver}`);
  const hits = hitRatioOf(reading?.levels ?? []);
  const waited = seconds === 0 ? 0 : waitedSeconds / seconds;
  return (
    `epoch ${epoch}: ${count(batches, 'batch', 'batches')}, ${count(samples, 'sample')} in ${seconds.toFixed(1)} s${rate}; ` +
    `the training waited ${percent(waited)} of the time for batches` +
    (hits === undefined ? '' : `; hit ratio ${percent(hits)}; ${formatBytes(read)} read: ${from.join(', ')}`)
  );
}

/** Whether the last epoch still has batches, or was left before its end. */
function isUnderWay({ epochs, batchesPerEpoch }: LoaderFigures): boolean {
  return (epochs.at(-1)?.batches ?? 0) < batchesPerEpoch;
}

function sourceText({ givenBytes, leastBytes, epochs }: SourceFigures, isUnderWay: boolean): string {
  const given = `source: gave ${formatBytes(givenBytes)}`;
  if (givenBytes < leastBytes)
    return `${given}; from empty tiers ${count(epochs, 'epoch')} would need ${formatBytes(leastBytes)}: the rest was on tiers, ${isUnderWay ? 'read before, or is not read yet' : 'or read before'}`;
  if (givenBytes === leastBytes)
    return `${given}, no more than these tiers need for ${count(epochs, 'epoch')}`;
  return `${given}; with these tiers ${formatBytes(leastBytes)} would do for ${count(epochs, 'epoch')}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`;
}
