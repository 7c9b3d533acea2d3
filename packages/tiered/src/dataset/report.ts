import { formatBytes, type HierarchyStats } from '@tiered/core';
import {
  hitRatioOf,
  type EpochProfile,
  type PrefetcherProfile,
  type PrefetcherStats,
} from '@tiered/prefetch';
import { countOf, percentOf } from '../words.js';

/** What a prefetcher did. */
export interface Prefetched {
  readonly profile: PrefetcherProfile;
  readonly stats: PrefetcherStats;
}

/** So many of the reads change what the shares of the epochs mean. */
const OFTEN_JOINED = 0.01;

/** Says what a training read, from where, and what limited it. */
export function reportOf(stats: HierarchyStats, prefetched: Prefetched | undefined): string {
  const { objects, bytes } = stats.namespace;
  return [
    `dataset: ${countOf(objects, 'object')}, ${formatBytes(bytes)}, in ${stats.source.driver}`,
    ...(prefetched?.profile.epochs ?? []).map(epochLine),
    ...repeatedLine(prefetched),
    ...skippedLine(prefetched),
    ...hitLine(stats),
    ...joinedLine(stats),
    `source: ${countOf(stats.source.reads, 'request')}, ${formatBytes(stats.source.readBytes)}${timesOf(stats)}`,
    ...peersLine(stats),
    ...stats.tiers.map(
      ({ level, driver, usedBytes, reservedBytes, quotaBytes, readBytes }) =>
        `tier ${level}, ${driver}: holds ${formatBytes(usedBytes)} of ${formatBytes(quotaBytes)}${onTheirWay(reservedBytes)}, gave ${formatBytes(readBytes)}`,
    ),
    ...(prefetched === undefined ? [] : [`limit: ${prefetched.profile.verdict.text}`]),
  ].join('\n');
}

/** The hit ratio of all epochs, by bytes and by reads. */
function hitLine({ tiers, peers, source, reads }: HierarchyStats): string[] {
  const below = peers === undefined ? [source] : [peers, source];
  const ratio = hitRatioOf([...tiers, ...below].map(({ readBytes }) => ({ bytes: readBytes })));
  const { total, empty, fromTiers } = reads;
  if (ratio === undefined || total === empty) return [];
  const [ofBytes, ofReads] = [percentOf(ratio), percentOf(fromTiers / (total - empty))];
  return [
    peers === undefined
      ? `hit ratio: ${ofBytes} of the bytes and ${ofReads} of the reads came from tiers`
      : `hit ratio: ${ofBytes} of the bytes came from tiers and peers; ${ofReads} of the reads came from own tiers`,
  ];
}

/** What other workers of the cluster gave in place of the source. */
function peersLine({ peers }: HierarchyStats): string[] {
  return peers === undefined
    ? []
    : [`peers: ${countOf(peers.reads, 'request')}, ${formatBytes(peers.readBytes)}`];
}

/**
 * Tells of reads whose bytes were on their way to others, or to tiers, where they are many: epochs count them
 * as reads of the source, which gave them once.
 */
function joinedLine({ reads: { joined, total } }: HierarchyStats): string[] {
  if (joined === 0 || joined / total < OFTEN_JOINED) return [];
  return [
    `joined: ${countOf(joined, 'read')} took bytes that were on their way already, and asked the source for nothing`,
  ];
}

/** Room that is claimed for copies is taken, and nothing is read from it yet. */
function onTheirWay(bytes: number): string {
  return bytes === 0 ? '' : `, ${formatBytes(bytes)} more are on their way`;
}

/** Explains why tiers gave less than was read, where a dataset is small. */
function repeatedLine(prefetched: Prefetched | undefined): string[] {
  const { repeated = 0 } = prefetched?.stats ?? {};
  if (repeated === 0) return [];
  return [
    `read ahead: ${countOf(repeated, 'sample')} of earlier epochs ${repeated === 1 ? 'was' : 'were'} still in memory, and not read again`,
  ];
}

/** Says that epochs lack samples, where the options allow it. */
function skippedLine(prefetched: Prefetched | undefined): string[] {
  const { skipped = 0 } = prefetched?.stats ?? {};
  return skipped === 0 ? [] : [`skipped: ${countOf(skipped, 'sample')} that could not be read`];
}

function epochLine({ epoch, samples, bytes, seconds, starved, levels }: EpochProfile): string {
  const rate = seconds === 0 ? '' : `, ${formatBytes(Math.round(bytes / seconds))}/s`;
  const waited = `waited for data ${percentOf(starved)} of the time`;
  const read = levels.reduce((sum, level) => sum + level.bytes, 0);
  const shares = levels
    .filter((level) => level.bytes > 0)
    .map((level) => `${percentOf(level.bytes / read)} from ${level.driver}`);
  // Reading is ahead of the loop, so this may have been for the next epoch.
  const hits = percentOf(hitRatioOf(levels) ?? 0);
  const from =
    shares.length === 0
      ? '; read nothing meanwhile'
      : `; hit ratio ${hits}; read meanwhile: ${shares.join(', ')}`;
  return `epoch ${epoch}: ${countOf(samples, 'sample')}, ${formatBytes(bytes)} in ${seconds.toFixed(1)} s${rate}; ${waited}${from}`;
}

/** How often the source gave the dataset. */
function timesOf({ source, namespace }: HierarchyStats): string {
  if (namespace.bytes === 0) return '';
  return `, ${(source.readBytes / namespace.bytes).toFixed(2)} x the dataset`;
}
