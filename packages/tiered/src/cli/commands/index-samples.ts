import { formatBytes, Hierarchy } from '@tiered/core';
import type { SampleSet } from '@tiered/formats';
import { Command } from 'commander';
import { countOf } from '../../words.js';
import { mapping } from '../arguments.js';
import type { CommandHost } from '../host.js';

/** `tiered index`. */
export function indexCommand(host: CommandHost): Command {
  return new Command('index')
    .summary('Finds the samples in all objects, and saves their positions')
    .argument('<config>', 'the configuration')
    .requiredOption('--format <name>', 'format of the samples in objects, such as tfrecord or webdataset')
    .requiredOption('--out <directory>', 'directory for the indexes, for the option `indexes` of loaders')
    .option('--options <json>', 'options of the format, such as \'{"compression":"gzip"}\'', mapping)
    .option('--pattern <glob>', 'only objects whose keys match, such as "train/**"')
    .option('--skip-damaged', 'leaves damaged records out, up to 0.1 % of all, instead of failing')
    .option('--json', 'the result as JSON')
    .description(
      'Finds the samples in all objects, and saves their positions, so that training runs start without ' +
        'reading the objects for them. Reads the source, past the tiers. Indexes of unchanged objects are ' +
        'kept as they are.',
    )
    .action((file: string, options: IndexSamplesOptions) => indexSamples(host, file, options));
}

interface IndexSamplesOptions {
  readonly format: string;
  readonly out: string;
  readonly options?: Readonly<Record<string, unknown>>;
  readonly pattern?: string;
  readonly skipDamaged?: boolean;
  readonly json?: boolean;
}

/** Indexes the objects of the source of a configuration. The tiers are left alone. */
async function indexSamples(
  host: CommandHost,
  file: string,
  { format: name, out, options, pattern, skipDamaged = false, json = false }: IndexSamplesOptions,
): Promise<void> {
  const { ListingProgress, ProgressBar } = await import('../../progress.js');
  const { levelsIn } = await import('../shared/look.js');
  const { formatOf, openSamples } = await import('@tiered/formats');
  const { default: picomatch } = await import('picomatch');
  const format = await formatOf(name, options);
  const { source, versions, clock } = await levelsIn(host, file);
  const hierarchy = new Hierarchy({ source, versions, clock });
  const listing = new ListingProgress(hierarchy, host.terminal, host.clock);
  const bar = new ProgressBar(host.terminal, host.clock, 'indexing objects');
  try {
    await hierarchy.open();
    listing.stop();
    const samples = await openSamples(hierarchy, {
      format,
      indexes: out,
      onDamage: skipDamaged ? 'skip' : 'fail',
      onSkipped: ({ message }) => void host.terminal.write(`skipped: ${message}\n`),
      onProgress: ({ objects, of }) => bar.update(objects, of),
      ...(pattern !== undefined && { filter: picomatch(pattern, { dot: true }) }),
    });
    const { reads, readBytes } = hierarchy.stats().source;
    const result = { ...figuresOf(samples), reads, readBytes };
    host.write(json ? `${JSON.stringify(result, undefined, 2)}\n` : textOf(result));
  } finally {
    bar.stop();
    listing.stop();
    await hierarchy.close();
  }
}

type Figures = ReturnType<typeof figuresOf> & { readonly reads: number; readonly readBytes: number };

function figuresOf({ format, keys, records, samples, bytes, skipped, leftOut }: SampleSet) {
  return { format: format.name, objects: keys.length, records, samples, bytes, skipped, leftOut };
}

function textOf({ objects, records, samples, bytes, skipped, leftOut, reads, readBytes }: Figures): string {
  const found = `${countOf(samples, 'sample', 'samples')} of ${formatBytes(bytes)} in ${countOf(objects, 'object', 'objects')}`;
  const lines = [
    records === samples
      ? found
      : `${found}; they cannot be read singly, but in ${countOf(records, 'record', 'records')}`,
    `read for that: ${formatBytes(readBytes)}, in ${countOf(reads, 'request', 'requests')}`,
    ...(skipped === 0 ? [] : [`left out: ${countOf(skipped, 'damaged record', 'damaged records')}`]),
    ...(leftOut === 0 ? [] : [`left out: ${countOf(leftOut, 'object', 'objects')} without samples`]),
  ];
  return `${lines.join('\n')}\n`;
}
