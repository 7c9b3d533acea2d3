import { loadHierarchyOptions } from '@tiered/config';
import { formatBytes } from '@tiered/core';
import { Interposer, type InterposerStats } from '@tiered/interpose';
import { ListingProgress, ProgressBar } from '../../progress.js';
import type { CommandHost } from '../host.js';
import { untilInterrupted } from './interrupt.js';
import { countOf, percentOf } from './words.js';

/** How a hierarchy is served to programs. */
export interface InterposerOptions {
  readonly config: string;
  readonly alias: readonly string[];
  /** The directory of its session. */
  readonly at?: string | undefined;
}

/** Opens the hierarchy of a configuration for programs, and shows what takes longer than two seconds. */
export function openInterposer(host: CommandHost, options: InterposerOptions): Promise<Interposer> {
  return untilInterrupted(host.clock, (signal) => openWithProgress(host, options, signal));
}

async function openWithProgress(
  host: CommandHost,
  { config, alias, at }: InterposerOptions,
  signal: AbortSignal,
): Promise<Interposer> {
  const hierarchy = await loadHierarchyOptions(config, { clock: host.clock, model: false });
  let listing: ListingProgress | undefined;
  const bar = new ProgressBar(host.terminal, host.clock, 'telling programs of objects');
  try {
    return await Interposer.open({
      hierarchy,
      aliases: alias,
      at,
      signal,
      onHierarchy: (made) => (listing = new ListingProgress(made, host.terminal, host.clock)),
      onTable: (objects, of) => {
        listing?.stop();
        bar.update(objects, of);
      },
    });
  } finally {
    listing?.stop();
    bar.stop();
  }
}

/** What programs did, in words. */
export function summaryOf({
  opens,
  redirected,
  sourceBytes,
  uncounted,
  best,
  hierarchy,
}: InterposerStats): string {
  const { source, tiers } = hierarchy;
  const held = tiers.reduce((sum, { usedBytes }) => sum + usedBytes, 0);
  const lines = [
    `${countOf(opens, 'file was', 'files were')} opened, ${percentOf(redirected, opens)} of them on tiers; ` +
      `with this room it can be ${percentOf(Math.max(best, redirected), opens)}.`,
    `Programs read at most ${formatBytes(sourceBytes)} from the source, and ${formatBytes(source.readBytes)} ` +
      `were copied to tiers in ${countOf(source.reads, 'request')}. They hold ${formatBytes(held)} now.`,
  ];
  if (uncounted > 0) lines.push(`${countOf(uncounted, 'open')} could not be counted.`);
  return lines.join('\n');
}
