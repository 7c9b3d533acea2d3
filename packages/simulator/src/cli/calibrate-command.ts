import { loadHierarchyOptions } from '@tiered/core/internal';
import { Command, InvalidArgumentError } from 'commander';
import { writeFile } from 'node:fs/promises';
import { calibrate } from '../calibration/calibrate.js';
import { unsteadyIn } from '../calibration/profile.js';
import type { CommandHost } from './host.js';
import { ProgressBar } from './progress.js';

interface Options {
  readonly out?: string;
  readonly seconds?: number;
  readonly bytes?: string;
  readonly readBytes?: string;
}

/** The command `tiered-calibrate`. */
export function calibrateCommand(host: CommandHost): Command {
  return new Command('tiered-calibrate')
    .description(
      'Measures the source and the tiers of a configuration at rising concurrency, for the simulator and the hierarchy. ' +
        'Tiers are written to, under tiered-calibration/, and left as they were; run it while nobody else uses them.',
    )
    .argument('<config>', 'the file that Hierarchy.fromConfig takes')
    .option('--out <file>', 'where the profile goes; default: printed')
    .option('--seconds <n>', 'for everything; default: 30', positive)
    .option('--bytes <size>', 'read and written, in all, such as 500MB; default: 2GiB')
    .option('--read-bytes <size>', 'what the loader reads at a time, such as 256KiB; default: whole objects')
    .action(async (config: string, { out, seconds, bytes, readBytes }: Options) => {
      const bar = new ProgressBar(host.terminal, host.clock, 'measuring');
      const profile = await calibrate(await loadHierarchyOptions(config, { clock: host.clock }), {
        ...(seconds !== undefined && { seconds }),
        ...(bytes !== undefined && { bytes }),
        ...(readBytes !== undefined && { readBytes }),
        clock: host.clock,
        onProgress: (done, total) => bar.update(done, total),
      }).finally(() => bar.stop());
      for (const warning of unsteadyIn(profile)) host.terminal.write(`warning: ${warning}\n`);
      const text = `${JSON.stringify(profile, undefined, 2)}\n`;
      if (out === undefined) host.write(text);
      else await writeFile(out, text);
    });
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < Infinity)) throw new InvalidArgumentError('Give a number above 0.');
  return value;
}
