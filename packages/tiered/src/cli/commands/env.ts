import { Command, Option } from 'commander';
import type { EnvOptions } from '../actions/env.js';
import type { CommandHost } from '../host.js';
import { asMissing } from '../missing-interpose.js';
import { addSessionOption } from '../serving.js';

/** `tiered env`. */
export function envCommand(host: CommandHost): Command {
  return addSessionOption(new Command('env'))
    .summary('Prints what a job script or a container needs to find a daemon')
    .description(
      'Prints the environment in which programs find a "tiered daemon", as commands of a shell: eval "$(tiered env --at DIRECTORY)".',
    )
    .addOption(
      new Option(
        '--docker',
        'options of docker run or podman run: the environment, and all that has to be at the same paths',
      ).conflicts('json'),
    )
    .option('--json', 'environment and paths as JSON')
    .action(async (options: EnvOptions) => {
      const { printEnvironment } = await import('../actions/env.js').catch(asMissing);
      printEnvironment(host, options);
    });
}
