import { Command } from 'commander';
import type { StatsOptions } from '../actions/stats.js';
import type { CommandHost } from '../host.js';

/** `tiered stats`. */
export function statsCommand(host: CommandHost): Command {
  return new Command('stats')
    .summary('Says what is on each tier, by whom, and how full it is')
    .argument('<config>', 'the configuration')
    .option('--json', 'the statistics as JSON')
    .option('--prometheus', 'the statistics in the text format of Prometheus')
    .description(
      'Says what is on each tier, by whom, how full it is, and how far that is from the most; changes nothing',
    )
    .action(async (file: string, options: StatsOptions) => {
      const { stats } = await import('../actions/stats.js');
      await stats(host, file, options);
    });
}
