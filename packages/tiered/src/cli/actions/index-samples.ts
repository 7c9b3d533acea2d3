import { formatBytes, Hierarchy } from '@tiered/core';
import { formatOf, openSamples, type SampleSet } from '@tiered/formats';
import picomatch from 'picomatch';
import { ListingProgress, ProgressBar } from '../../progress.js';
import type { CommandHost } from '../host.js';
import { countOf } from './words.js';
import { levelsIn } from './levels-in.js';

/** What `tiered index` is told. */
export interface IndexSamplesOptions {
  readonly format: string;
  readonly out: string;
  readonly options?: Readonly<Record<string, unknown>>;
  readonly pattern?: string;
  readonly skipDamaged?: boolean;
  readonly json?: boolean;
}

/** Indexes the objects of the source of a configuration. The tiers are left alone. */
export async function indexSamples(
  host: CommandHost,
  file: string,
  { format: name, out, options, pattern, skipDamaged = false, json = false }: IndexSamplesOptions,
): Promise<void> {
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
