import { Command } from 'commander';
import type { DaemonOptions } from '../actions/daemon.js';
import type { CommandHost } from '../host.js';
import { repeated } from '../repeated.js';
import { asMissing } from '../missing-interpose.js';

/** `tiered daemon`. */
export function daemonCommand(host: CommandHost): Command {
  return new Command('daemon')
    .summary('Serves several programs that others start')
    .description(
      'Serves the tiers of a configuration to programs that "tiered run --at" starts, until it is interrupted. ' +
        'They go on without it, and read the source.',
    )
    .requiredOption('--config <file>', 'a configuration whose source and tiers are directories')
    .requiredOption('--at <directory>', 'where programs find it; made by this command, for this user alone')
    .option(
      '--alias <path>',
      'another path by which programs come to the source, such as a link to it; may be repeated',
      repeated,
      [],
    )
    .action(async (options: DaemonOptions) => {
      const { serveDaemon } = await import('../actions/daemon.js').catch(asMissing);
      await serveDaemon(host, options);
    });
}
