import { TieredError } from '@tiered/core';
import type { TraceEntry } from '@tiered/interpose';
import { Command } from 'commander';
import { positiveWhole, wholeNumber } from '../arguments.js';
import { asMissing } from '../failure.js';
import type { CommandHost } from '../host.js';
import { addTrainingOptions, type TrainingOptions } from '../options.js';

/** `tiered trace`. */
export function traceCommand(host: CommandHost): Command {
  const command = new Command('trace')
    .summary('Merges and cuts traces, or makes one from a seed')
    .argument('[files...]', 'traces from "tiered run --record", which are merged by time')
    .option(
      '--config <file>',
      'without files: a configuration, whose objects are read in the order of --seed',
    )
    .option('--pattern <glob>', 'with --config: only objects whose keys match, such as "train/**"')
    .option('--skip <n>', 'leaves out this many opens at the start', wholeNumber)
    .option('--take <n>', 'keeps only this many opens', positiveWhole);
  return addTrainingOptions(command)
    .description(
      'Writes a trace to standard output, for "tiered run --replay": the merged files, or the trace of a ' +
        'training run whose order follows from its seed.',
    )
    .action((files: string[], options: TraceOptions) => writeTrace(host, files, options));
}

interface TraceOptions extends TrainingOptions {
  readonly config?: string;
  readonly pattern?: string;
  readonly skip?: number;
  readonly take?: number;
}

/** Characters that are written at once. */
const MOST_WAITING = 2 ** 16;

/** Writes the trace of files, or that of a training. */
async function writeTrace(host: CommandHost, files: readonly string[], options: TraceOptions): Promise<void> {
  const { cutTrace, mergeTraces, readTrace, traceLine } = await import('@tiered/interpose').catch(asMissing);
  const { config } = options;
  if ((files.length === 0) === (config === undefined))
    throw new TieredError('TIERED_CONFIG_INVALID', 'tiered trace: give files, or --config with --seed');
  const trace = config === undefined ? mergeTraces(files.map(readTrace)) : ofTraining(host, config, options);
  let waiting = '';
  for await (const entry of cutTrace(trace, options)) {
    waiting += traceLine(entry);
    if (waiting.length < MOST_WAITING) continue;
    host.write(waiting);
    waiting = '';
  }
  host.write(waiting);
}

/**
 * What a worker of a training opens, if each sample is an object. Opens are a second apart, so that those of
 * several workers can be merged.
 */
async function* ofTraining(
  host: CommandHost,
  config: string,
  options: TraceOptions,
): AsyncGenerator<TraceEntry, void, undefined> {
  const { pattern = '**', worker } = options;
  const { keysIn, levelsIn, openSource } = await import('../shared/look.js');
  const { samplerOf } = await import('../shared/plan.js');
  const { default: picomatch } = await import('picomatch');
  await using source = await openSource(host, await levelsIn(host, config));
  const isMeant = picomatch(pattern, { dot: true });
  const keys = await keysIn(source, (key) => isMeant(key));
  const sampler = samplerOf(keys.length, options);
  let seconds = 0;
  for (let epoch = 0; epoch < sampler.epochs; epoch++) {
    const order = Uint32Array.from(sampler.epoch(worker, epoch));
    for (const sample of order) yield { seconds: seconds++, key: keys[sample] ?? '' };
  }
}
