import { TieredError } from '@tiered/core';
import { Command } from 'commander';
import type { RunOptions } from '../actions/run.js';
import type { CommandHost } from '../host.js';
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
    .requiredOption('--config <file>', 'a configuration whose source and tiers are directories')
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

/** @throws TieredError `TIERED_UNSUPPORTED` that says what to install; errors that say anything else. */
function asMissing(error: unknown): never {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
  const message = 'tiered run needs a package that is not installed: npm install @tiered/interpose';
  throw new TieredError('TIERED_UNSUPPORTED', message, { cause: error });
}
