import { formatBytes, statsBetween, type HierarchyStats } from '@tiered/core';
import type { MonitorLook, PrefetcherLook, ProgramsLook } from '../../monitor/look.js';
import type { Watched } from '../../monitor/sockets.js';
import { countOf, percentOf } from './words.js';

/**
 * What processes do, in lines.
 * @param before The look before this one, for rates. A process without one shows its totals.
 */
export function watchedText(now: readonly Watched[], before: readonly Watched[]): string {
  return now
    .map(({ socketPath, look }) => {
      if (look === undefined) return `${socketPath}: does not answer; the process may be stopped, or compute`;
      const earlier = before.find((other) => other.socketPath === socketPath)?.look;
      return lookText(look, earlier);
    })
    .join('\n\n');
}

function lookText(look: MonitorLook, earlier: MonitorLook | undefined): string {
  const { pid, forMs, hierarchy, placed, prefetcher, programs } = look;
  const seconds = (forMs - (earlier?.forMs ?? 0)) / 1000;
  const stats = earlier === undefined ? hierarchy : statsBetween(earlier.hierarchy, hierarchy);
  const rateOf = ({ reads, bytes }: { readonly reads: number; readonly bytes: number }) =>
    earlier === undefined || seconds <= 0
      ? `${countOf(reads, 'read')}, ${formatBytes(bytes)} so far`
      : `${Math.round(reads / seconds).toLocaleString('en')} reads/s, ${formatBytes(Math.round(bytes / seconds))}/s`;
  const { source, placement } = stats;
  const [latest] = placed;
  return [
    `process ${pid}, watched for ${Math.round(forMs / 1000)} s: ${programs === undefined ? sharesText(stats) : programsText(programs, earlier?.programs)}`,
    ...stats.tiers.map(({ level, driver, usedBytes, quotaBytes, reads, readBytes, readable, writable }) => {
      const state = readable && writable ? '' : '; out of service';
      const full = `${formatBytes(usedBytes)} of ${formatBytes(quotaBytes)} (${percentOf(usedBytes, quotaBytes)})`;
      return `  tier ${level}, ${driver}: ${full}; ${rateOf({ reads, bytes: readBytes })}${state}`;
    }),
    `  source, ${source.driver}: ${rateOf({ reads: source.reads, bytes: source.readBytes })}; ${timesOf(hierarchy)}`,
    `  placing: ${countOf(placement.fetching, 'fetch', 'fetches')} with ${formatBytes(placement.fetchingBytes)}` +
      (latest === undefined ? '' : `; last ${latest.key} on tier ${latest.level}`),
    ...prefetcherLines(prefetcher),
  ].join('\n');
}

/** Where reads were served from. */
function sharesText({ reads }: HierarchyStats): string {
  const { total, fromTiers } = reads;
  return total === 0 ? 'no reads' : `${percentOf(fromTiers, total)} of ${countOf(total, 'read')} from tiers`;
}

/** What programs opened, since the look before this one if there is one. */
export function programsText(now: ProgramsLook, earlier?: ProgramsLook): string {
  const of = (name: 'opens' | 'redirected' | 'sourceBytes' | 'copyBytes') =>
    now[name] - (earlier?.[name] ?? 0);
  const [opens, copyBytes] = [of('opens'), of('copyBytes')];
  const all = copyBytes + of('sourceBytes');
  const where = now.epoch === 0 ? '' : `epoch ${now.epoch}, `;
  if (opens === 0) return `${where}no file was opened below ${now.root}`;
  return (
    `${where}${percentOf(of('redirected'), opens)} of ${countOf(opens, 'file')} opened on tiers, ` +
    `${formatBytes(copyBytes)} of ${formatBytes(all)} (${percentOf(copyBytes, all)})`
  );
}

/** How often the source gave the dataset, since the beginning. */
function timesOf({ source, namespace }: HierarchyStats): string {
  if (namespace.bytes === 0) return 'nothing is known of its size';
  return `${(source.readBytes / namespace.bytes).toFixed(2)} x the dataset in all`;
}

function prefetcherLines(prefetcher: PrefetcherLook | undefined): string[] {
  if (prefetcher === undefined) return [];
  const { epoch, samples, bytes, starved, producers, heldBytes, memoryBytes, verdict } = prefetcher;
  const where = epoch === undefined ? 'before the first sample' : `in epoch ${epoch}`;
  return [
    `  prefetcher, ${where}: ${countOf(samples, 'sample')}, ${formatBytes(bytes)}; ${countOf(producers, 'producer')}, ` +
      `${formatBytes(heldBytes)} of ${formatBytes(memoryBytes)}; consumers wait ${percentOf(starved, 1)} of the time`,
    `  limit: ${verdict}`,
  ];
}
