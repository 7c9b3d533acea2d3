import { formatBytes, statsBetween, TieredError, type HierarchyStats } from '@tiered/core';
import { Command } from 'commander';
import type { MonitorLook, PrefetcherLook } from '../../monitor/look.js';
import type { Watched } from '../../monitor/sockets.js';
import { countOf, percentOf } from '../../words.js';
import { positive, positiveWhole } from '../arguments.js';
import type { CommandHost } from '../host.js';
import type { ControlRegistryOptions } from '../options.js';
import type { DrawingOptions } from '../shared/drawing.js';
import { programsText } from '../summary.js';

/** `tiered top`. */
export function topCommand(host: CommandHost): Command {
  return new Command('top')
    .summary('Watches training runs')
    .argument(
      '[config]',
      'a configuration that names its monitor; default: everything that this user serves with "tiered ' +
        'run" and "tiered daemon"',
    )
    .option(
      '--directory <path>',
      'instead of a configuration: the directory of the sockets, as in the option monitor of openDataset',
    )
    .option(
      '--all',
      'instead of processes: all jobs that share sources, as in "tiered control show"; takes its ' +
        '--registry and --name',
    )
    .option('--registry <place>', 'with --all: the registry where jobs meet')
    .option('--name <name>', 'with --all: the name of the registry')
    .option('--interval <seconds>', 'seconds between refreshes', positive, 1)
    .option('--count <n>', 'number of refreshes; default: until interrupted', positiveWhole)
    .option('--json', 'each refresh as a line of JSON')
    .description(
      'Watches processes that offer a socket: hits per tier, the source, placement, and what limits them',
    )
    .action((config: string | undefined, options: TopOptions) => top(host, config, options));
}

interface TopOptions extends DrawingOptions, ControlRegistryOptions {
  readonly directory?: string;
  readonly all?: boolean;
}

/** Shows what the processes at a directory's sockets do, again and again. Fails if there is none at first. */
async function top(host: CommandHost, config: string | undefined, options: TopOptions): Promise<void> {
  if (options.all === true) return topOfAll(host, config, options);
  if ((options.registry ?? options.name) !== undefined)
    throw new TieredError('TIERED_CONFIG_INVALID', 'top: --registry and --name go with --all');
  const { askAll } = await import('../../monitor/sockets.js');
  const { drawAgain } = await import('../shared/drawing.js');
  const directory = await directoryOf(host, config, options.directory);
  let before: readonly Watched[] = [];
  await drawAgain(host, options, async (isFirst) => {
    const now = await askAll(directory);
    if (isFirst && now.length === 0) throw nobody(directory);
    const text = watchedText(now, before) || 'no process is left';
    before = now;
    return { value: now, text };
  });
}

/** Shows what all jobs do to what they share. */
async function topOfAll(host: CommandHost, config: string | undefined, options: TopOptions): Promise<void> {
  if (options.directory !== undefined)
    throw new TieredError('TIERED_CONFIG_INVALID', 'top: --directory does not go with --all');
  const { drawJobs } = await import('../shared/draw-jobs.js');
  await drawJobs(host, { ...options, ...(config !== undefined && { config }) });
}

async function directoryOf(
  host: CommandHost,
  config: string | undefined,
  directory: string | undefined,
): Promise<string> {
  const { ownSockets } = await import('../../monitor/sockets.js');
  if (config === undefined) return directory ?? ownSockets();
  if (directory !== undefined)
    throw new TieredError('TIERED_CONFIG_INVALID', 'top: give a configuration or --directory, not both');
  const { loadConfig } = await import('@tiered/config');
  const { monitor } = await loadConfig(config, { clock: host.clock });
  // Those that "tiered run" and "tiered daemon" serve are there then.
  return monitor ?? ownSockets();
}

function nobody(directory: string): TieredError {
  return new TieredError(
    'TIERED_NOT_FOUND',
    `No process offers a socket in ${directory}; start the training by "tiered run", or name a directory there as "monitor" in its ` +
      'configuration, or in its calls of openDataset or serveMonitor.',
  );
}

/**
 * What processes do, in lines.
 * @param before The look before this one, for rates. A process without one shows its totals.
 */
function watchedText(now: readonly Watched[], before: readonly Watched[]): string {
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
  const { peers, source, placement } = stats;
  const [latest] = placed;
  return [
    `process ${pid}, watched for ${Math.round(forMs / 1000)} s: ${programs === undefined ? sharesText(stats) : programsText(programs, earlier?.programs)}`,
    ...stats.tiers.map(({ level, driver, usedBytes, quotaBytes, reads, readBytes, readable, writable }) => {
      const state = readable && writable ? '' : '; out of service';
      const full = `${formatBytes(usedBytes)} of ${formatBytes(quotaBytes)} (${percentOf(usedBytes, quotaBytes)})`;
      // Programs open copies themselves.
      const rate = programs === undefined ? `; ${rateOf({ reads, bytes: readBytes })}` : '';
      return `  tier ${level}, ${driver}: ${full}${rate}${state}`;
    }),
    ...(peers === undefined ? [] : [`  peers: ${rateOf({ reads: peers.reads, bytes: peers.readBytes })}`]),
    `  source, ${source.driver}: ${rateOf({ reads: source.reads, bytes: source.readBytes })}` +
      (programs === undefined ? `; ${timesOf(hierarchy)}` : ' by the daemon'),
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
