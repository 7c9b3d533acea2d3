import { Command } from 'commander';
import type { DaemonOptions } from '../actions/daemon.js';
import type { CommandHost } from '../host.js';
import { asMissing } from '../missing-interpose.js';
import { addServingOptions, SOURCE } from '../serving.js';

/** `tiered daemon`. */
export function daemonCommand(host: CommandHost): Command {
  const command = new Command('daemon')
    .summary('Serves several programs that others start')
    .description(
      'Serves a source, or a configuration, to programs that "tiered run --at" starts, until it is interrupted. ' +
        'They go on without it, and read the source.',
    )
    .argument('[source]', SOURCE)
    .requiredOption('--at <directory>', 'where programs find it; made by this command, for this user alone');
  return addServingOptions(command)
    .option('--json', 'what is said on standard output as lines of JSON, and the summary too')
    .action(async (source: string | undefined, options: DaemonOptions) => {
      const { serveDaemon } = await import('../actions/daemon.js').catch(asMissing);
      await serveDaemon(host, { ...options, source });
    });
}
