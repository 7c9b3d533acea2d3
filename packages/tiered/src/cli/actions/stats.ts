import { formatBytes, TieredError, type Hierarchy, type HierarchyOptions } from '@tiered/core';
import { identityOf } from '@tiered/core/internal';
import { bytesWithRoom } from '@tiered/tiering/plans';
import { statfs } from 'node:fs/promises';
import type { CommandHost } from '../host.js';
import type { Optimum, TierFigures } from './stats-figures.js';
import { directoryOf, lookAtTiers, openSource, type TierLook } from './look.js';
import { tiersOf } from './plan.js';
import { PACKED } from '../../doctor/checks/data.js';
import { SMALL_BYTES } from '../../doctor/facts/storage.js';
import { countOf, percentOf } from './words.js';
import { levelsIn } from './levels-in.js';

/** How `tiered stats` says it. Default: in words. */
export interface StatsOptions {
  readonly json?: boolean;
  readonly prometheus?: boolean;
}

/** Says what the tiers of a configuration hold, by whom, and how far that is from the most. */
export async function stats(
  host: CommandHost,
  file: string,
  { json = false, prometheus = false }: StatsOptions,
): Promise<void> {
  if (json && prometheus)
    throw new TieredError('TIERED_CONFIG_INVALID', 'stats: expected --json or --prometheus');
  const options = await levelsIn(host, file);
  await using source = await openSource(host, options);
  await using looks = await lookAtTiers(options);
  const tiers = await Promise.all(looks.tiers.map(figuresOf));
  const { namespace } = source.stats();
  const dataset = identityOf(options.source);
  const optimum = source.namespace.known === 0 ? undefined : await optimumOf(tiers, options, source);
  if (prometheus) {
    const { prometheusText } = await import('./stats-metrics.js');
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
  lines.push(...packedAdvice(options, source.namespace));
  host.write(`${lines.join('\n')}\n`);
}

async function figuresOf({ level, driver, quotaBytes, survey, absent }: TierLook): Promise<TierFigures> {
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
function packedAdvice({ tiers = [] }: HierarchyOptions, namespace: Hierarchy['namespace']): string[] {
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
