import { loadHierarchyOptions } from '@tiered/config';
import { formatBytes } from '@tiered/core';
import { Interposer, type InterposerStats } from '@tiered/interpose';
import { ListingProgress, ProgressBar } from '../../progress.js';
import type { CommandHost } from '../host.js';
import { ProgramEnded } from '../program-ended.js';
import { runChild } from './child.js';
import { untilInterrupted } from './interrupt.js';
import { countOf, percentOf } from './words.js';

/** What `tiered run` is told. */
export interface RunOptions {
  readonly config: string;
  readonly alias: readonly string[];
  readonly quiet?: boolean;
}

/**
 * Runs a program under the shim, with the tiers of a configuration.
 * @throws ProgramEnded with the program's exit code, if that is not 0.
 */
export async function runProgram(
  host: CommandHost,
  program: readonly string[],
  options: RunOptions,
): Promise<void> {
  const interposer = await untilInterrupted(host.clock, (signal) => openInterposer(host, options, signal));
  let code: number;
  let stats: InterposerStats;
  try {
    code = await runChild(program, interposer.environment(), host.terminal);
    stats = interposer.stats();
  } finally {
    await interposer.close();
  }
  if (options.quiet !== true) host.terminal.write(`${summaryOf(stats)}\n`);
  if (code !== 0) throw new ProgramEnded(code);
}

/** Opens the hierarchy of a configuration for programs, and shows what takes longer than two seconds. */
async function openInterposer(
  host: CommandHost,
  { config, alias }: RunOptions,
  signal: AbortSignal,
): Promise<Interposer> {
  const hierarchy = await loadHierarchyOptions(config, { clock: host.clock, model: false });
  let listing: ListingProgress | undefined;
  const bar = new ProgressBar(host.terminal, host.clock, 'telling programs of objects');
  try {
    return await Interposer.open({
      hierarchy,
      aliases: alias,
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

/** What a program did, in words. */
function summaryOf({ opens, redirected, sourceBytes, uncounted, best, hierarchy }: InterposerStats): string {
  const { source, tiers } = hierarchy;
  const held = tiers.reduce((sum, { usedBytes }) => sum + usedBytes, 0);
  const lines = [
    `${countOf(opens, 'file was', 'files were')} opened, ${percentOf(redirected, opens)} of them on tiers; ` +
      `with this room it can be ${percentOf(Math.max(best, redirected), opens)}.`,
    `The program read at most ${formatBytes(sourceBytes)} from the source, and ${formatBytes(source.readBytes)} ` +
      `were copied to tiers in ${countOf(source.reads, 'request')}. They hold ${formatBytes(held)} now.`,
  ];
  if (uncounted > 0) lines.push(`${countOf(uncounted, 'open')} could not be counted.`);
  return lines.join('\n');
}
