import type { LoadedConfig } from '@tiered/config';
import {
  formatBytes,
  Hierarchy,
  parseBytes,
  TieredError,
  type HierarchyOptions,
  type HierarchyStats,
} from '@tiered/core';
import { ABSENT, identityOf } from '@tiered/core/internal';
import { Command } from 'commander';
import { countOf, messageOf, percentOf } from '../../words.js';
import { Interrupted } from '../failure.js';
import { warnOn, type CommandHost } from '../host.js';
import { untilInterrupted } from '../interrupt.js';
import { addPlanOptions, type PlanOptions } from '../options.js';
import type { SelectionOptions } from '../shared/selection.js';

/** `tiered warmup`. */
export function warmupCommand(host: CommandHost): Command {
  const command = new Command('warmup')
    .summary('Fills the tiers before a training run')
    .argument('<config>', 'the configuration')
    .option('--prefix <prefix>', 'only the objects whose keys begin with this')
    .option('--pattern <glob>', 'only the objects whose keys match, such as "train/**/*.jpg"')
    .option('--keys <file>', 'only these objects, one key a line, in this order; - is standard input')
    .option('--budget <size>', 'fetches at most this much from the source, such as 50GiB; default: no limit')
    .option('--check', 'fetches nothing; reports what is missing, and fails if anything is')
    .option('--json', 'the result as JSON');
  return addPlanOptions(command)
    .description(
      'Fills the tiers before a training run, as far as they have room: in the order of the keys or, with ' +
        '--seed, in the order in which the run first reads the objects that it should keep. Memory tiers ' +
        'are left to the training run.',
    )
    .action((file: string, options: WarmupOptions) => warmup(host, file, options));
}

interface WarmupOptions extends PlanOptions, SelectionOptions {
  readonly budget?: string;
  readonly check?: boolean;
  readonly json?: boolean;
}

/**
 * Fills the tiers of a configuration, or only says what is missing. Fails at the end if anything is. Ctrl-C
 * ends it; what is on the tiers by then stays.
 */
async function warmup(host: CommandHost, file: string, options: WarmupOptions): Promise<void> {
  const { configIn } = await import('../shared/look.js');
  const config = await configIn(host, file, { model: options.seed !== undefined });
  const budget = options.budget === undefined ? Infinity : parseBytes(options.budget, '--budget');
  if (options.check === true) await checkTiers(host, config.hierarchy, options);
  else await untilInterrupted(host.clock, (signal) => fillAsJob(host, config, { budget, signal }, options));
}

/** Fills them beside other jobs, if the configuration names a job. */
async function fillAsJob(
  host: CommandHost,
  config: LoadedConfig,
  { budget, signal }: { readonly budget: number; readonly signal: AbortSignal },
  options: WarmupOptions,
): Promise<void> {
  const { ControlStage } = await import('../../control/control-stage.js');
  const joining = { clock: host.clock, signal, warn: warnOn(host) };
  await using stage = await ControlStage.join(config, joining);
  await fillTiers(host, stage.config.hierarchy, { budget, signal }, options);
}

/** Memory ends with this command, so memory tiers take nothing. */
function withoutMemory(config: HierarchyOptions): HierarchyOptions {
  const { tiers = [] } = config;
  const stay = tiers.map((tier) => (tier.driver.location === undefined ? { ...tier, quota: 0 } : tier));
  return { ...config, tiers: stay };
}

async function fillTiers(
  host: CommandHost,
  config: HierarchyOptions,
  { budget, signal }: { readonly budget: number; readonly signal: AbortSignal },
  options: WarmupOptions,
): Promise<void> {
  const { ListingProgress, ProgressBar } = await import('../../progress.js');
  const { selected } = await import('../shared/selection.js');
  const { placeInOrder } = await import('@tiered/tiering');
  await using hierarchy = new Hierarchy(withoutMemory(config));
  const faults = new Map<number, unknown>();
  hierarchy.on('tierFault', ({ level, error }) => faults.set(level, error));
  hierarchy.on('tierOutOfService', () => undefined);
  const listing = new ListingProgress(hierarchy, host.terminal, host.clock);
  await hierarchy.open({ signal }).finally(() => listing.stop());
  const { keys, isPlan } = await selected(host, hierarchy, config, options);
  // Copies that are there already cost nothing of the budget.
  await hierarchy.idle({ signal });
  const bar = new ProgressBar(host.terminal, host.clock, 'placing');
  const failures: string[] = [];
  const paid = withinBudget(hierarchy, keys, budget);
  let onTiers = 0;
  const counts = await placeInOrder(hierarchy, paid.keys, {
    signal,
    onProgress: ({ placed, left, failed }) => {
      onTiers = placed.reduce((sum, n) => sum + n, 0);
      bar.update(onTiers + left + failed, keys.length);
    },
    onFailed: (key, error) => failures.push(`${key}: ${messageOf(error)}`),
  })
    .catch((error: unknown) => {
      if (!(error instanceof Interrupted)) throw error;
      const fetched = formatBytes(hierarchy.stats().source.readBytes);
      const told = `${onTiers.toLocaleString('en')} of ${countOf(keys.length, 'object')} are on tiers and stay there, ${fetched} fetched`;
      throw new Interrupted(error.signal, `${told}. The same command goes on from there.`);
    })
    .finally(() => bar.stop());
  await hierarchy.idle({ signal });
  const stats = hierarchy.stats();
  const fetchedBytes = stats.source.readBytes;
  const beyondBudget = keys.length - paid.count();
  if (options.json === true) {
    const found = { objects: keys.length, ...counts, fetchedBytes, beyondBudget, tiers: stats.tiers };
    host.write(`${JSON.stringify(found, undefined, 2)}\n`);
  } else {
    const meant =
      isPlan && keys.length < stats.namespace.objects
        ? `${keys.length.toLocaleString('en')} of ${countOf(stats.namespace.objects, 'object')} are planned for the tiers`
        : countOf(keys.length, 'object');
    const why = counts.left > 0 && faults.size === 0 ? ', as no tier has room' : '';
    const beyond = beyondBudget > 0 ? `, ${countOf(beyondBudget, 'object')} beyond the budget` : '';
    host.write(
      `${meant}: ${countOf(counts.left, 'stays', 'stay')} in the source${why}${beyond}; ${formatBytes(fetchedBytes)} fetched\n` +
        `${levelsText(stats)}\n`,
    );
  }
  assertFilled(host, stats, faults);
  if (failures.length === 0) return;
  const [first] = failures;
  throw new TieredError(
    'TIERED_IO',
    `${countOf(failures.length, 'object')} could not be looked up, the first: ${first}`,
  );
}

/** How full each tier is, and what is known of the source. Tiers without a quota are left out. */
function levelsText({ tiers, source, namespace }: HierarchyStats): string {
  const lines = tiers.map(({ level, driver, usedBytes, quotaBytes, writable, readable }) => {
    if (quotaBytes === 0) return `tier ${level}, ${driver}: left to the training`;
    const share = percentOf(usedBytes, quotaBytes);
    const state = readable && writable ? '' : '; out of service';
    return `tier ${level}, ${driver}: ${formatBytes(usedBytes)} of ${formatBytes(quotaBytes)} (${share})${state}`;
  });
  return [
    ...lines,
    `source, ${source.driver}: ${countOf(namespace.objects, 'object')}, ${formatBytes(namespace.bytes)}`,
  ].join('\n');
}

/**
 * Warns of tiers that had faults.
 * @throws TieredError `TIERED_UNAVAILABLE` for one that is out of service.
 */
function assertFilled(
  host: CommandHost,
  { tiers }: HierarchyStats,
  faults: ReadonlyMap<number, unknown>,
): void {
  for (const { level, driver, readable, writable } of tiers) {
    if (!faults.has(level)) continue;
    const cause = faults.get(level);
    const told = `tier ${level}, ${driver}, could not be filled: ${messageOf(cause)}`;
    if (!readable || !writable) throw new TieredError('TIERED_UNAVAILABLE', told, { cause });
    host.terminal.write(`warning: ${told}\n`);
  }
}

/** The first keys whose objects, without those on a tier, have no more bytes than this. */
function withinBudget(
  hierarchy: Hierarchy,
  keys: readonly string[],
  budget: number,
): { readonly keys: Iterable<string>; readonly count: () => number } {
  const source = hierarchy.stats().tiers.length;
  let taken = 0;
  function* within(): Generator<string> {
    const { namespace } = hierarchy;
    let spent = 0;
    for (const key of keys) {
      const id = namespace.find(key);
      if (id !== ABSENT && namespace.levelOf(id) === source) spent += namespace.sizeOf(id);
      if (spent > budget) return;
      taken += 1;
      yield key;
    }
  }
  return { keys: within(), count: () => taken };
}

/**
 * Counts which objects are on tiers that stay.
 * @throws TieredError `TIERED_NOT_FOUND` if any is missing.
 */
async function checkTiers(
  host: CommandHost,
  config: HierarchyOptions,
  options: WarmupOptions,
): Promise<void> {
  const { lookAtTiers, openSource } = await import('../shared/look.js');
  const { selected } = await import('../shared/selection.js');
  await using source = await openSource(host, config);
  await using looks = await lookAtTiers(config);
  const missing = new Set((await selected(host, source, config, options)).keys);
  const wanted = missing.size;
  const dataset = identityOf(config.source);
  const { namespace } = source;
  for (const { survey } of looks.tiers) {
    if (survey === undefined) continue;
    for await (const page of survey.copies()) {
      for (const copy of page) {
        const id = copy.dataset === dataset ? namespace.find(copy.key) : ABSENT;
        if (id === ABSENT || copy.bytes !== namespace.sizeOf(id)) continue;
        if (config.versions === 'ignore' || copy.version === namespace.versionOf(id))
          missing.delete(copy.key);
      }
    }
  }
  const placed = wanted - missing.size;
  let missingBytes = 0;
  for (const id of Array.from(missing, (key) => namespace.find(key)))
    if (id !== ABSENT) missingBytes += namespace.sizeOf(id);
  if (options.json === true)
    host.write(
      `${JSON.stringify({ objects: wanted, placed, missing: missing.size, missingBytes }, undefined, 2)}\n`,
    );
  else
    host.write(
      `${placed.toLocaleString('en')} of ${countOf(wanted, 'object')} (${percentOf(placed, wanted)}) are on tiers; ` +
        `${countOf(missing.size, 'object')}, ${formatBytes(missingBytes)}, to fetch\n`,
    );
  if (missing.size === 0) return;
  const [first] = missing;
  throw new TieredError(
    'TIERED_NOT_FOUND',
    `${countOf(missing.size, 'object is', 'objects are')} on no tier, the first: ${first}. "tiered warmup" without --check fetches what there is room for.`,
  );
}
