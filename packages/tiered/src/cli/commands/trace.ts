import { Command } from 'commander';
import type { TraceOptions } from '../actions/trace.js';
import type { CommandHost } from '../host.js';
import { asMissing } from '../missing-interpose.js';
import { positiveWhole, wholeNumber } from '../numbers.js';
import { addTrainingOptions } from '../training.js';

/** `tiered trace`. */
export function traceCommand(host: CommandHost): Command {
  const command = new Command('trace')
    .summary('Merges and cuts traces, or makes one from a seed')
    .argument('[files...]', 'traces of "tiered run --record", which are merged by time')
    .option(
      '--config <file>',
      'without files: a configuration, whose objects are read in the order of --seed',
    )
    .option('--pattern <glob>', 'with --config: only objects whose keys match, such as "train/**"')
    .option('--skip <n>', 'leaves out the first opens', wholeNumber)
    .option('--take <n>', 'only so many opens', positiveWhole);
  return addTrainingOptions(command)
    .description(
      'Writes a trace to standard output, for "tiered run --replay": of the files, or of a training whose order is known by its seed.',
    )
    .action(async (files: string[], options: TraceOptions) => {
      const { writeTrace } = await import('../actions/trace.js').catch(asMissing);
      await writeTrace(host, files, options);
    });
}
