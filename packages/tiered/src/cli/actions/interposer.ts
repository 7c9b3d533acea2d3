import { formatBytes } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import {
  Interposer,
  keysOf,
  mergeTraces,
  readTrace,
  type InterposerStats,
  type ProgramWait,
} from '@tiered/interpose';
import { ListingProgress, ProgressBar } from '../../progress.js';
import type { CommandHost } from '../host.js';
import fs from 'node:fs';
import path from 'node:path';
import { messageOf } from '../../doctor/finding.js';
import { assertNotTaken } from './daemon-at.js';
import { countOf, percentOf } from './words.js';
import { levelsIn } from './levels-in.js';

/** How a hierarchy is served to programs. */
export interface ServingOptions {
  /** The path below which programs find objects of a source that is no directory. */
  readonly root?: string | undefined;
  /** A directory for links to what is read. */
  readonly farm?: string | undefined;
  readonly alias: readonly string[];
  readonly record?: string | undefined;
  /** Traces. */
  readonly replay: readonly string[];
}

/** The same, from a configuration. */
export interface InterposerOptions extends ServingOptions {
  readonly config: string;
  /** The directory of its session. */
  readonly at?: string | undefined;
}

/** Opens the hierarchy of a configuration for programs, and shows what takes longer than two seconds. */
export async function openInterposer(
  host: CommandHost,
  { config, root, farm, alias, record, replay, at }: InterposerOptions,
  signal: AbortSignal,
): Promise<Interposer> {
  await assertUsable({ record, replay, at });
  const hierarchy = await levelsIn(host, config);
  let listing: ListingProgress | undefined;
  const bar = new ProgressBar(host.terminal, host.clock, 'telling programs of objects');
  const links = new ProgressBar(host.terminal, host.clock, 'making links');
  try {
    return await Interposer.open({
      hierarchy,
      root: root === undefined ? undefined : path.resolve(root),
      farm,
      aliases: alias,
      record,
      plan: replay.length === 0 ? undefined : keysOf(mergeTraces(replay.map(readTrace))),
      at,
      signal,
      onWait: (wait) => host.terminal.write(`${waitText(wait, hierarchy.source.name)}\n`),
      onHierarchy: (made) => (listing = new ListingProgress(made, host.terminal, host.clock)),
      onTable: (objects, of) => {
        listing?.stop();
        bar.update(objects, of);
      },
      onFarm: (objects, of) => {
        bar.stop();
        links.update(objects, of);
      },
    });
  } finally {
    listing?.stop();
    bar.stop();
    links.stop();
  }
}

/**
 * Finds what would be found only when the source is listed, which may take minutes.
 * @throws TieredError `TIERED_CONFIG_INVALID`; the system's error for a trace that cannot be read
 */
async function assertUsable({
  record,
  replay,
  at,
}: Pick<InterposerOptions, 'record' | 'replay' | 'at'>): Promise<void> {
  if (at !== undefined) await assertNotTaken(at);
  if (record !== undefined && fs.lstatSync(record, { throwIfNoEntry: false }) !== undefined)
    throw configError('--record', 'a path at which there is nothing', record);
  for (const file of replay) fs.accessSync(file, fs.constants.R_OK);
}

/** Of planned opens for which the copy came too late: what that means, and whether to do anything. */
export function lateText({ late, placed }: { readonly late: number; readonly placed: number }): string {
  if (late === 0) return 'All planned opens found what was placed for them.';
  const read = `${countOf(late, 'planned open')} came before the copy, and read the source as without a plan`;
  return late <= placed
    ? `${read}: that costs nothing, and the others were spared the wait.`
    : `${read}. That is most of them: the program reads faster than the source gives. Give the tiers more room, or leave out --replay, which gains little here.`;
}

/** What programs wait for, in words. */
function waitText({ key, ms, count }: ProgramWait, source: string): string {
  const who = count === 1 ? 'A program waits' : `${countOf(count, 'open', 'opens')} wait, the first of them`;
  return `${who} for ${JSON.stringify(key)}, which has not come from ${source} in ${Math.round(ms / 1000)} s.`;
}

/** What programs did, in words. */
export function summaryOf({
  opens,
  redirected,
  sourceBytes,
  uncounted,
  best,
  failed,
  ahead,
  farm,
  unrecorded,
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
  if (ahead !== undefined)
    lines.push(
      `${countOf(ahead.placed, 'object was', 'objects were')} placed ahead and ${ahead.evicted.toLocaleString('en')} evicted; ${countOf(ahead.unplanned, 'open was', 'opens were')} not planned.`,
      lateText(ahead),
    );
  if (farm !== undefined)
    lines.push(
      `Of ${countOf(farm.links, 'link')} of the farm, ${farm.toCopies.toLocaleString('en')} led to copies.` +
        (farm.wrong === 0
          ? ''
          : ` ${countOf(farm.wrong, 'link')} could not be changed; the last one because: ${messageOf(farm.lastError)}`),
    );
  if (unrecorded > 0) lines.push(`${countOf(unrecorded, 'open')} could not be recorded.`);
  if (failed.count > 0)
    lines.push(
      `${countOf(failed.count, 'open')} failed; the last one because: ${messageOf(failed.lastError)}`,
    );
  return lines.join('\n');
}
