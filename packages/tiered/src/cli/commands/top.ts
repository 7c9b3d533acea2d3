import { Command } from 'commander';
import type { TopOptions } from '../actions/top.js';
import type { CommandHost } from '../host.js';
import { positive, positiveWhole } from '../numbers.js';

/** `tiered top`. */
export function topCommand(host: CommandHost): Command {
  return new Command('top')
    .summary('Watches trainings while they run')
    .argument(
      '[config]',
      'a configuration that names its monitor; default: what this user serves by "tiered run" and "tiered daemon"',
    )
    .option(
      '--directory <path>',
      'in place of a configuration: the directory of the sockets, as in the option monitor of openDataset',
    )
    .option('--interval <seconds>', 'between two looks', positive, 1)
    .option('--count <n>', 'looks; default: until it is interrupted', positiveWhole)
    .option('--json', 'each look as a line of JSON')
    .description(
      'Watches processes that offer a socket: hits per tier, the source, what is placed, and what limits them',
    )
    .action(async (config: string | undefined, options: TopOptions) => {
      const { top } = await import('../actions/top.js');
      await top(host, config, options);
    });
}
