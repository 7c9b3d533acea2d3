import { Command } from 'commander';
import type { CalibrateOptions } from '../actions/calibrate.js';
import type { CommandHost } from '../host.js';
import { positive } from '../numbers.js';

/** `tiered calibrate`. */
export function calibrateCommand(host: CommandHost): Command {
  return new Command('calibrate')
    .summary('Measures the source and the tiers')
    .description(
      'Measures the source and the tiers of a configuration at rising concurrency, for the simulator and the hierarchy. ' +
        'Tiers are written to, under tiered-calibration/, and left as they were; run it while nobody else uses them.',
    )
    .argument('<config>', 'the configuration')
    .option('-o, --out <file>', 'where the profile goes; default: printed')
    .option('--seconds <n>', 'for everything; default: 30', positive)
    .option('--bytes <size>', 'read and written, in all, such as 500MB; default: 2GiB')
    .option('--read-bytes <size>', 'what the loader reads at a time, such as 256KiB; default: whole objects')
    .action(async (config: string, options: CalibrateOptions) => {
      const { calibrateTo } = await import('../actions/calibrate.js');
      await calibrateTo(host, config, options);
    });
}
