import { formatBytes, TieredError, type Hierarchy, type HierarchyOptions } from '@tiered/core';
import { identityOf } from '@tiered/core/internal';
import type { TierSummary } from '@tiered/tiering/survey';
import { Command } from 'commander';
import { statfs } from 'node:fs/promises';
import { countOf, percentOf } from '../../words.js';
import type { CommandHost } from '../host.js';
import type { TierLook } from '../shared/look.js';

/** `tiered stats`. */
export function statsCommand(host: CommandHost): Command {
  return new Command('stats')
    .summary('Shows what is on each tier, which processes use it, and how full it is')
    .argument('<config>', 'the configuration')
    .option('--json', 'the statistics as JSON')
    .option('--prometheus', 'the statistics in the text format of Prometheus')
    .description(
      'Shows what is on each tier, which processes use it, how full it is, and how far that is from the ' +
        'optimum; changes nothing',
    )
    .action((file: string, options: StatsOptions) => stats(host, file, options));
}

/** How it is said. Default: in words. */
interface StatsOptions {
  readonly json?: boolean;
  readonly prometheus?: boolean;
}

/** What `tiered stats` says of a tier. */
interface TierFigures {
  readonly level: number;
  readonly driver: string;
  readonly quotaBytes: number;
  /** Bytes that the file system could still take, where there is one. */
  readonly diskFreeBytes?: number;
  /** Why nothing is known of it. */
  readonly absent?: string;
  readonly summary?: TierSummary;
}

/** How much of a source is on tiers that outlive a process, and how much all tiers have room for. */
interface Optimum {
  readonly heldBytes: number;
  readonly roomBytes: number;
  readonly datasetBytes: number;
}

/** Says what the tiers of a configuration hold, by whom, and how far that is from the most. */
async function stats(
  host: CommandHost,
  file: string,
  { json = false, prometheus = false }: StatsOptions,
): Promise<void> {
  if (json && prometheus)
    throw new TieredError('TIERED_CONFIG_INVALID', 'stats: give --json or --prometheus, not both');
  const { levelsIn, lookAtTiers, openSource } = await import('../shared/look.js');
  const options = await levelsIn(host, file);
  await using source = await openSource(host, options);
  await using looks = await lookAtTiers(options);
  const tiers = await Promise.all(looks.tiers.map(figuresOf));
  const { namespace } = source.stats();
  const dataset = identityOf(options.source);
  const optimum = source.namespace.known === 0 ? undefined : await optimumOf(tiers, options, source);
  if (prometheus) {
    const levels = { tiers, source: { driver: options.source.name, ...namespace }, optimum };
    host.write(await prometheusText(levels));
    return;
  }
  if (json) {
    const found = { driver: options.source.name, dataset, ...namespace };
    host.write(`${JSON.stringify({ tiers, source: found, optimum }, undefined, 2)}\n`);
    return;
  }
  const known = `source, ${options.source.name}: ${countOf(namespace.objects, 'object')}, ${formatBytes(namespace.bytes)}`;
  const lines = [...tiers.flatMap((tier) => linesOf(tier, dataset)), known];
  if (optimum !== undefined) lines.push(optimumText(optimum));
  lines.push(...(await packedAdvice(options, source.namespace)));
  host.write(`${lines.join('\n')}\n`);
}

async function figuresOf({ level, driver, quotaBytes, survey, absent }: TierLook): Promise<TierFigures> {
  const { directoryOf } = await import('../shared/look.js');
  const directory = directoryOf(driver);
  const disk = directory === undefined ? undefined : await statfs(directory).catch(() => undefined);
  return {
    level,
    driver: driver.name,
    quotaBytes,
    ...(disk !== undefined && { diskFreeBytes: disk.bavail * disk.bsize }),
    ...(absent !== undefined && { absent }),
    ...(survey !== undefined && { summary: await survey.summary() }),
  };
}

function linesOf(
  { level, driver, quotaBytes, diskFreeBytes, absent, summary }: TierFigures,
  dataset: string,
) {
  const free = diskFreeBytes === undefined ? '' : `; the disk has ${formatBytes(diskFreeBytes)} free`;
  const name = `tier ${level}, ${driver}`;
  if (summary === undefined) return [`${name}: ${formatBytes(quotaBytes)}, ${absent}${free}`];
  const { usedBytes, datasets, members } = summary;
  const most = Math.min(quotaBytes, summary.quotaBytes ?? quotaBytes);
  return [
    `${name}: ${formatBytes(usedBytes)} of ${formatBytes(most)} (${percentOf(usedBytes, most)})${free}`,
    ...datasets.map(
      (one) =>
        `  of ${one.name}${one.name === dataset ? ', this source' : ''}: ${countOf(one.copies, 'copy', 'copies')}, ${formatBytes(one.bytes)}`,
    ),
    ...members.map(
      ({ id, isRunning, quotaBytes: quota, leasedBytes, unfinishedBytes }) =>
        `  by member ${id.slice(0, 8)}, which ${isRunning ? 'runs' : 'is gone'}: quota ${formatBytes(quota)}, ` +
        `${formatBytes(leasedBytes)} leased, ${formatBytes(unfinishedBytes)} on the way`,
    ),
  ];
}

async function optimumOf(
  tiers: readonly TierFigures[],
  options: HierarchyOptions,
  source: Hierarchy,
): Promise<Optimum> {
  const { tiersOf } = await import('../shared/plan.js');
  const { bytesWithRoom } = await import('@tiered/tiering/plans');
  const dataset = identityOf(options.source);
  const datasetBytes = source.stats().namespace.bytes;
  const held = tiers.flatMap(({ summary }) => summary?.datasets ?? []).filter(({ name }) => name === dataset);
  const room = await bytesWithRoom(tiersOf(options), source.namespace);
  return {
    datasetBytes,
    heldBytes: held.reduce((sum, { bytes }) => sum + bytes, 0),
    roomBytes: room.reduce((sum, bytes) => sum + bytes, 0),
  };
}

/** Where most objects are small, and a tier in a directory keeps each in a file of its own. */
async function packedAdvice(
  { tiers = [] }: HierarchyOptions,
  namespace: Hierarchy['namespace'],
): Promise<string[]> {
  const { PACKED, SMALL_BYTES } = await import('../../doctor/data.js');
  let small = 0;
  for (let id = 0; id < namespace.count; id++)
    if (namespace.isKnown(id) && namespace.sizeOf(id) <= SMALL_BYTES) small += 1;
  const isFiles = tiers.some(({ driver, layout }) => driver.capabilities.index && layout !== 'packed');
  if (!isFiles || small <= namespace.known / 2) return [];
  return [`small objects: ${percentOf(small, namespace.known)} have at most 256 KiB. ${PACKED}`];
}

function optimumText({ heldBytes, roomBytes, datasetBytes }: Optimum): string {
  const share = `${formatBytes(heldBytes)} (${percentOf(heldBytes, datasetBytes)}) of this source is on disks and in buckets`;
  const most = `the quotas allow ${formatBytes(roomBytes)} (${percentOf(roomBytes, datasetBytes)})`;
  return `optimum: ${share}; ${most}, so that an epoch reads ${formatBytes(datasetBytes - roomBytes)} from the source`;
}

/** What is known of the levels of a configuration. */
interface MeasuredLevels {
  readonly tiers: readonly TierFigures[];
  readonly source: { readonly driver: string; readonly objects: number; readonly bytes: number };
  readonly optimum: Optimum | undefined;
}

/**
 * The statistics in the text format of Prometheus, for a scrape of a file or a push: a cron job that writes
 * it into the directory of node_exporter's textfile collector needs no process of its own.
 */
async function prometheusText({ tiers, source, optimum }: MeasuredLevels): Promise<string> {
  const { Gauge, Registry } = await import('prom-client');
  const registry = new Registry();
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Gauge({ name: `tiered_${name}`, help, labelNames, registers: [registry] });
  const ofTier = ['level', 'driver'] as const;
  const quota = gauge('tier_quota_bytes', 'Bytes that a tier may hold, as configured.', ofTier);
  const used = gauge('tier_used_bytes', 'Bytes that a tier holds, of all sources.', ofTier);
  const free = gauge(
    'tier_disk_free_bytes',
    'Bytes that the file system of a tier could still take.',
    ofTier,
  );
  const members = gauge('tier_members', 'Processes that use a tier, or were killed while they did.', [
    ...ofTier,
    'running',
  ]);
  for (const { level, driver, quotaBytes, diskFreeBytes, summary } of tiers) {
    const labels = { level: String(level), driver };
    quota.set(labels, quotaBytes);
    if (diskFreeBytes !== undefined) free.set(labels, diskFreeBytes);
    if (summary === undefined) continue;
    used.set(labels, summary.usedBytes);
    for (const running of [true, false])
      members.set(
        { ...labels, running: String(running) },
        summary.members.filter(({ isRunning }) => isRunning === running).length,
      );
  }
  const ofSource = ['driver'] as const;
  gauge('source_objects', 'Objects of the source.', ofSource).set({ driver: source.driver }, source.objects);
  gauge('source_bytes', 'Bytes of the source.', ofSource).set({ driver: source.driver }, source.bytes);
  if (optimum !== undefined) {
    gauge('held_bytes', 'Bytes of this source on tiers that outlive a process.', []).set(optimum.heldBytes);
    gauge('room_bytes', 'Bytes of this source that all tiers have room for.', []).set(optimum.roomBytes);
  }
  return registry.metrics();
}
