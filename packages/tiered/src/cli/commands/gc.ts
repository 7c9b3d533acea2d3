import { formatBytes, Hierarchy, TieredError, type HierarchyOptions } from '@tiered/core';
import { ABSENT, identityOf } from '@tiered/core/internal';
import type { SurveyedCopy, TierSurvey } from '@tiered/tiering/survey';
import { Command } from 'commander';
import { countOf } from '../../words.js';
import type { CommandHost } from '../host.js';

/** `tiered gc`. */
export function gcCommand(host: CommandHost): Command {
  return new Command('gc')
    .summary('Removes copies that are of no use')
    .argument('<config>', 'the configuration')
    .option('--dry-run', 'only lists what would be removed')
    .option('--json', 'the result as JSON')
    .description(
      'Removes copies of this source that are of no use: older versions, copies of objects that are gone, ' +
        'and copies that processes left half-written. A training run does the same when it opens its tiers.',
    )
    .action((file: string, options: GcOptions) => gc(host, file, options));
}

interface GcOptions {
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** What is on a tier and of no use. */
interface Garbage {
  readonly level: number;
  readonly driver: string;
  /** Copies of objects that the source has in another version, or not at all; and of damaged records. */
  outdated: number;
  gone: number;
  damaged: number;
  bytes: number;
  /** What members that are gone had on the way. */
  leftBytes: number;
}

/** Removes copies that are of no use from the tiers of a configuration, or only says which there are. */
async function gc(host: CommandHost, file: string, options: GcOptions): Promise<void> {
  const { dryRun = false, json = false } = options;
  const { levelsIn } = await import('../shared/look.js');
  const found = await garbageOf(host, await levelsIn(host, file));
  if (!dryRun) await collect(host, file);
  if (json) host.write(`${JSON.stringify({ removed: !dryRun, tiers: found }, undefined, 2)}\n`);
  else host.write(`${found.map((tier) => lineOf(tier, dryRun)).join('\n') || 'there are no tiers'}\n`);
}

async function garbageOf(host: CommandHost, options: HierarchyOptions): Promise<Garbage[]> {
  const { lookAtTiers, openSource } = await import('../shared/look.js');
  await using source = await openSource(host, options);
  if (options.scan === false || !options.source.capabilities.list) {
    throw new TieredError(
      'TIERED_UNSUPPORTED',
      'Copies of no use are found by listing the source: set scan: true, for a source that can list.',
    );
  }
  if (source.namespace.known === 0) {
    throw new TieredError(
      'TIERED_NOT_FOUND',
      `${options.source.name} has no objects. Is it mounted, and is the prefix right? Every copy would be of no use.`,
    );
  }
  await using looks = await lookAtTiers(options);
  const found: Garbage[] = [];
  for (const { level, driver, survey } of looks.tiers) {
    if (survey === undefined) continue;
    const garbage = { level, driver: driver.name, outdated: 0, gone: 0, damaged: 0, bytes: 0, leftBytes: 0 };
    found.push(garbage);
    await count(garbage, survey, source, options);
  }
  return found;
}

async function count(
  garbage: Garbage,
  survey: TierSurvey,
  source: Hierarchy,
  { versions, source: driver }: HierarchyOptions,
): Promise<void> {
  const dataset = identityOf(driver);
  for await (const page of survey.copies()) {
    for (const copy of page) {
      const why = copy.size === undefined ? 'damaged' : useless(copy, dataset, source, versions === 'ignore');
      if (why === undefined) continue;
      garbage[why] += 1;
      garbage.bytes += copy.bytes;
    }
  }
  const { members } = await survey.summary();
  for (const { isRunning, unfinishedBytes } of members) if (!isRunning) garbage.leftBytes += unfinishedBytes;
}

/** Copies of other sources are theirs to judge. */
function useless(
  { dataset, key, size, version }: SurveyedCopy,
  ours: string,
  { namespace }: Hierarchy,
  ignoresVersions: boolean,
): 'outdated' | 'gone' | undefined {
  if (dataset !== ours) return undefined;
  const id = namespace.find(key);
  if (id === ABSENT) return 'gone';
  if (size !== namespace.sizeOf(id)) return 'outdated';
  return ignoresVersions || version === namespace.versionOf(id) ? undefined : 'outdated';
}

/** A hierarchy that opens its tiers removes what is of no use, and clears up after the dead. */
async function collect(host: CommandHost, file: string): Promise<void> {
  const { ListingProgress } = await import('../../progress.js');
  const { levelsIn } = await import('../shared/look.js');
  await using hierarchy = new Hierarchy(await levelsIn(host, file));
  const listing = new ListingProgress(hierarchy, host.terminal, host.clock);
  await hierarchy.open().finally(() => listing.stop());
  await hierarchy.idle();
}

function lineOf({ level, driver, bytes, leftBytes, ...counts }: Garbage, dryRun: boolean): string {
  const { outdated, gone, damaged } = counts;
  const verb = dryRun ? 'would remove' : 'removed';
  const what = [
    outdated > 0 ? `${outdated} of older versions` : '',
    gone > 0 ? `${gone} of objects that the source does not have` : '',
    damaged > 0 ? `${damaged} with damaged records` : '',
  ].filter(Boolean);
  const left = leftBytes > 0 ? `; ${formatBytes(leftBytes)} that processes left half written` : '';
  const copies = countOf(outdated + gone + damaged, 'copy', 'copies');
  return `tier ${level}, ${driver}: ${verb} ${copies}, ${formatBytes(bytes)}${what.length > 0 ? `: ${what.join(', ')}` : ''}${left}`;
}
