import { Command } from 'commander';
import type { RunOptions } from '../actions/run.js';
import type { CommandHost } from '../host.js';
import { asMissing } from '../missing-interpose.js';
import { addServingOptions, SOURCE } from '../serving.js';

const EXAMPLES = `
Examples:
  tiered run /mnt/imagenet --tier /nvme/cache:200GiB -- python3 train.py
  tiered run s3://bucket/prefix/ --tier ram:8GiB --tier /nvme/cache:200GiB -- python3 train.py
  tiered run --config tiers.yaml -- python3 train.py`;

/** `tiered run`. */
export function runCommand(host: CommandHost): Command {
  const command = withOptions(new Command('run'));
  return command
    .summary('Runs a program with its files read from tiers')
    .description(
      'Runs a program that knows nothing of tiers. What it opens for reading in the source is read from copies on the ' +
        'tiers, and what has none is copied in the background. The exit code is that of the program, or 128 and the ' +
        'number of the signal that ended it.',
    )
    .usage('[source] [options] -- <program> [args...]')
    .argument('<source-or-program>', `${SOURCE}; left out with --config and --at`)
    .argument('[program-and-args...]', 'as for a shell, behind --')
    .addHelpText('after', EXAMPLES)
    .action(async (first: string, rest: string[], options: RunOptions) => {
      const { source, program, said } =
        options.config === undefined && options.at === undefined
          ? behindSource(command, first, rest)
          : { source: undefined, program: [first, ...rest], said: options };
      const { runProgram } = await import('../actions/run.js').catch(asMissing);
      await runProgram(host, program, { ...said, source });
    });
}

function withOptions(command: Command): Command {
  return addServingOptions(command)
    .option('--at <directory>', 'in place of a source: that of a "tiered daemon" which runs')
    .option('--quiet', 'no summary at the end, and no line of status')
    .option('--json', 'the summary as JSON: the last line of standard error')
    .passThroughOptions();
}

/** What comes behind a source: more options, and the program with what is its own. */
function behindSource(command: Command, source: string, rest: readonly string[]) {
  const inner = withOptions(new Command('run')).copyInheritedSettings(command).argument('[program...]');
  for (const [name, value] of Object.entries(command.opts())) inner.setOptionValue(name, value);
  inner.parse(rest, { from: 'user' });
  if (inner.args.length === 0)
    inner.error('tiered run: expected a source and a program behind --, or one of --config and --at');
  return { source, program: inner.args, said: inner.opts<RunOptions>() };
}
