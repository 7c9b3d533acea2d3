import { TieredError, type Hierarchy, type HierarchyOptions } from '@tiered/core';
import { readFile } from 'node:fs/promises';
import picomatch from 'picomatch';
import { text } from 'node:stream/consumers';
import type { CommandHost } from '../host.js';
import type { PlanOptions } from '../options.js';
import { followerOf, planOf, tiersAhead } from './plan.js';

/** Which objects are meant. All that is given has to be true of them. */
export interface SelectionOptions {
  readonly prefix?: string;
  readonly pattern?: string;
  /** A file of keys, one a line; `-` is standard input. */
  readonly keys?: string;
}

/** What is to be on tiers that stay when this command ends. */
export interface Selected {
  /** Each once, in the order in which they are to be fetched. */
  readonly keys: readonly string[];
  /** Whether they are those of a plan. */
  readonly isPlan: boolean;
}

/**
 * The keys of the objects that are meant: in the order of the file of keys; else, with a seed, in the order
 * of the plan; else in their own order. A policy that follows plans gets the plan.
 * @throws TieredError `TIERED_CONFIG_INVALID` if nothing is meant, for options that do not go together, and
 * for a policy that follows plans where there is none.
 */
export async function selected(
  host: CommandHost,
  source: Hierarchy,
  config: HierarchyOptions,
  options: SelectionOptions & PlanOptions,
): Promise<Selected> {
  const { prefix = '', pattern, keys, ...training } = options;
  if (keys !== undefined && training.seed !== undefined)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      '--keys: cannot be combined with --seed; each gives an order',
    );
  const isPlan = training.seed !== undefined;
  if (!isPlan) assertNoPlanNeeded(config);
  const matches = pattern === undefined ? () => true : picomatch(pattern, { dot: true });
  const isMeant = (key: string) => key.startsWith(prefix) && matches(key);
  const all = isPlan
    ? await planned(host, source, config, training)
    : keys === undefined
      ? await listed(source)
      : await linesOf(keys);
  const chosen = all.filter(isMeant);
  if (chosen.length === 0)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      'No object is meant; check the prefix, the pattern and the keys.',
    );
  return { keys: [...new Set(chosen)], isPlan };
}

function assertNoPlanNeeded(config: HierarchyOptions): void {
  const follower = followerOf(config);
  if (follower === undefined) return;
  throw new TieredError(
    'TIERED_CONFIG_INVALID',
    `placement.policy: ${follower.name} needs a plan, and there is none. Give the order of the training, ` +
      'from which the plan follows: --seed, with --epochs, --workers and --worker.',
  );
}

async function planned(
  host: CommandHost,
  source: Hierarchy,
  config: HierarchyOptions,
  training: PlanOptions,
): Promise<string[]> {
  const { plan, levels } = await planOf(host, source, { ...config, tiers: tiersAhead(config) }, training);
  const { namespace } = source;
  followerOf(config)?.follow({ plan, sampleOf: (key) => namespace.find(key) });
  const stays = (level: number) => config.tiers?.[level]?.driver.location !== undefined;
  return levels.filter((_, level) => stays(level)).flat();
}

/** All keys, in the order of their UTF-16 code units, as `openDataset` has them. */
async function listed(source: Hierarchy): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of source.list()) for (const { key } of page) keys.push(key);
  return keys.sort();
}

async function linesOf(file: string): Promise<string[]> {
  const content = file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
  return content.split(/\r?\n/).filter((line) => line !== '');
}
