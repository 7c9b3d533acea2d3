import { Command } from 'commander';
import type { DaemonOptions } from '../actions/daemon.js';
import type { CommandHost } from '../host.js';
import { asMissing } from '../missing-interpose.js';
import { addServingOptions, SERVED } from '../serving.js';

/** `tiered daemon`. */
export function daemonCommand(host: CommandHost): Command {
  const command = new Command('daemon')
    .summary('Serves several programs that others start')
    .description(
      'Serves the tiers of a configuration to programs that "tiered run --at" starts, until it is interrupted. ' +
        'They go on without it, and read the source.',
    )
    .requiredOption('--config <file>', SERVED)
    .requiredOption('--at <directory>', 'where programs find it; made by this command, for this user alone');
  return addServingOptions(command).action(async (options: DaemonOptions) => {
    const { serveDaemon } = await import('../actions/daemon.js').catch(asMissing);
    await serveDaemon(host, options);
  });
}
