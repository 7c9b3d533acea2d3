import { Command } from 'commander';
import type { BenchCommandOptions } from '../actions/bench.js';
import type { CommandHost } from '../host.js';
import { positive } from '../numbers.js';

/** `tiered bench`. */
export function benchCommand(host: CommandHost): Command {
  return new Command('bench')
    .description(
      'Measures the source and the tiers of a configuration against what the machine gives without them, and epochs ' +
        'through all of it. Tiers stay as they are: what is written goes to directories beside them, which are gone at the end.',
    )
    .argument('<config>', 'the configuration')
    .option('--seconds <n>', 'for everything, more or less', positive, 30)
    .option('--bytes <size>', 'read and written, in all, such as 500MB', '2GiB')
    .option('--json', 'the figures as JSON')
    .action(async (config: string, options: BenchCommandOptions) => {
      const { benchConfiguration } = await import('../actions/bench.js');
      await benchConfiguration(host, config, options);
    });
}
