import { Command } from 'commander';
import type { RunOptions } from '../actions/run.js';
import type { CommandHost } from '../host.js';
import { asMissing } from '../missing-interpose.js';
import { addServingOptions, SERVED } from '../serving.js';

/** `tiered run`. */
export function runCommand(host: CommandHost): Command {
  const command = new Command('run')
    .summary('Runs a program with its files read from tiers')
    .description(
      'Runs a program that knows nothing of tiers. What it opens for reading in the source is read from copies on the ' +
        'tiers, and what has none is copied in the background. The exit code is that of the program, or 128 and the ' +
        'number of the signal that ended it.',
    )
    .option('--config <file>', SERVED)
    .option('--at <directory>', 'in place of a configuration: that of a "tiered daemon" which runs');
  return addServingOptions(command)
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
