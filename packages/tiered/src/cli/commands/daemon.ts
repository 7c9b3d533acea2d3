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
    .requiredOption(
      '--config <file>',
      'a configuration whose tiers are directories, and its source, unless --root is given',
    )
    .requiredOption('--at <directory>', 'where programs find it; made by this command, for this user alone')
    .option(
      '--root <path>',
      'for a source that is no directory, such as a bucket: the path below which programs find its objects',
    )
    .option(
      '--farm <directory>',
      'for programs that nothing can be loaded into, such as static ones: links to the copies, or else to the source, made in this directory',
    )
    .option('--record <file>', 'writes down which objects are opened, in order; there must be no such file')
    .option(
      '--replay <file>',
      'a trace of an earlier run, or of "tiered trace": what is opened next is placed ahead; may be repeated',
      repeated,
      [],
    )
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
