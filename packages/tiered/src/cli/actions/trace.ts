import { TieredError } from '@tiered/core';
import { cutTrace, mergeTraces, readTrace, traceLine, type TraceEntry } from '@tiered/interpose';
import picomatch from 'picomatch';
import type { CommandHost } from '../host.js';
import type { TrainingOptions } from '../training.js';
import { keysIn, openSource } from './look.js';
import { samplerOf } from './training.js';
import { levelsIn } from './levels-in.js';

/** What `tiered trace` is told. */
export interface TraceOptions extends TrainingOptions {
  readonly config?: string;
  readonly pattern?: string;
  readonly skip?: number;
  readonly take?: number;
}

/** Characters that are written at once. */
const MOST_WAITING = 2 ** 16;

/** Writes the trace of files, or that of a training. */
export async function writeTrace(
  host: CommandHost,
  files: readonly string[],
  options: TraceOptions,
): Promise<void> {
  const { config } = options;
  if ((files.length === 0) === (config === undefined))
    throw new TieredError('TIERED_CONFIG_INVALID', 'tiered trace: expected files, or --config with --seed');
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
