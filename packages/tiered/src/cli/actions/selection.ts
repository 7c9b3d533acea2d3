import { TieredError, type Hierarchy } from '@tiered/core';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import picomatch from 'picomatch';
import type { TrainingOptions } from '../training.js';
import { objectsOf } from './look.js';
import { planOf } from './training.js';

/** Which objects are meant. All that is given has to be true of them. */
export interface SelectionOptions {
  readonly prefix?: string;
  readonly pattern?: string;
  /** A file of keys, one a line; `-` is standard input. */
  readonly keys?: string;
}

/**
 * The keys of the objects that are meant, each once: in the order of the file of keys; else, with a seed, in
 * the order of the plan; else in their own order.
 * @throws TieredError `TIERED_CONFIG_INVALID` if nothing is meant, or for options that do not go together.
 */
export async function selected(
  source: Hierarchy,
  quotas: readonly number[],
  options: SelectionOptions & TrainingOptions,
): Promise<string[]> {
  const { prefix = '', pattern, keys, ...training } = options;
  if (keys !== undefined && training.seed !== undefined)
    throw new TieredError('TIERED_CONFIG_INVALID', '--keys: expected without --seed; each gives an order');
  const matches = pattern === undefined ? () => true : picomatch(pattern, { dot: true });
  const isMeant = (key: string) => key.startsWith(prefix) && matches(key);
  const chosen = (await inOrder(source, quotas, keys, training)).filter(isMeant);
  if (chosen.length === 0)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      'No object is meant; check the prefix, the pattern and the keys.',
    );
  return [...new Set(chosen)];
}

async function inOrder(
  source: Hierarchy,
  quotas: readonly number[],
  keys: string | undefined,
  training: TrainingOptions,
): Promise<string[]> {
  if (keys !== undefined) return linesOf(keys);
  const objects = await objectsOf(source);
  if (training.seed === undefined) return objects.map(({ key }) => key);
  const { levels } = await planOf(objects, quotas, training);
  return levels.flat().map(({ key }) => key);
}

async function linesOf(file: string): Promise<string[]> {
  const content = file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
  return content.split(/\r?\n/).filter((line) => line !== '');
}
