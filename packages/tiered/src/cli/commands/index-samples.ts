import { Command } from 'commander';
import type { IndexSamplesOptions } from '../actions/index-samples.js';
import type { CommandHost } from '../host.js';
import { mapping } from '../mapping.js';

/** `tiered index`. */
export function indexCommand(host: CommandHost): Command {
  return new Command('index')
    .summary('Finds the samples in all objects, and keeps where they are')
    .argument('<config>', 'the configuration')
    .requiredOption('--format <name>', 'how samples lie in objects, such as tfrecord or webdataset')
    .requiredOption('--out <directory>', 'where the indexes are kept, for the option `indexes` of loaders')
    .option('--options <json>', 'options of the format, such as \'{"compression":"gzip"}\'', mapping)
    .option('--pattern <glob>', 'only objects whose keys match, such as "train/**"')
    .option('--skip-damaged', 'leaves damaged records out, up to 0.1 % of all, instead of failing')
    .option('--json', 'the result as JSON')
    .description(
      'Finds the samples in all objects, and keeps where they are, so that trainings start without reading the objects ' +
        'for that. Reads the source, past the tiers. Indexes of objects that have not changed are kept as they are.',
    )
    .action(async (file: string, options: IndexSamplesOptions) => {
      const { indexSamples } = await import('../actions/index-samples.js');
      await indexSamples(host, file, options);
    });
}
