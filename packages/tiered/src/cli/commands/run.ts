import { Command } from 'commander';
import type { RunOptions } from '../actions/run.js';
import type { CommandHost } from '../host.js';
import { asMissing } from '../missing-interpose.js';
import { repeated } from '../repeated.js';

/** `tiered run`. */
export function runCommand(host: CommandHost): Command {
  return new Command('run')
    .summary('Runs a program with its files read from tiers')
    .description(
      'Runs a program that knows nothing of tiers. What it opens for reading in the source is read from copies on the ' +
        'tiers, and what has none is copied in the background. The exit code is that of the program, or 128 and the ' +
        'number of the signal that ended it.',
    )
    .option(
      '--config <file>',
      'a configuration whose tiers are directories, and its source, unless --root is given',
    )
    .option('--at <directory>', 'in place of a configuration: that of a "tiered daemon" which runs')
    .option(
      '--root <path>',
      'for a source that is no directory, such as a bucket: the path below which the program finds its objects',
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
      'another path by which the program comes to the source, such as a link to it; may be repeated',
      repeated,
      [],
    )
    .option('--quiet', 'no summary at the end')
    .argument('<program>', 'as for a shell, behind --')
    .argument('[args...]', 'of the program')
    .passThroughOptions()
    .addHelpText('after', '\nExample: tiered run --config tiers.yaml -- python3 train.py')
    .action(async (program: string, args: string[], options: RunOptions) => {
      const { runProgram } = await import('../actions/run.js').catch(asMissing);
      await runProgram(host, [program, ...args], options);
    });
}
