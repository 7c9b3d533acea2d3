import { formatBytes, parseBytes, TieredError, type Hierarchy, type HierarchyOptions } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { Change, SimulationResult } from '@tiered/simulator';
import type { CalibrationProfile } from '@tiered/simulator/calibration';
import type { SystemModel } from '@tiered/simulator/model';
import type { ReportRow } from '@tiered/simulator/report';
import type { Command } from 'commander';
import { writeFile } from 'node:fs/promises';
import { positive, readJsonFile, wholeNumber } from '../arguments.js';
import type { CommandHost } from '../host.js';

/** Adds `tiered simulate profile`. */
export function addProfileCommand(program: Command, host: CommandHost): void {
  program
    .command('profile')
    .argument('<profile>', 'what "tiered calibrate -o" wrote')
    .requiredOption(
      '--config <file>',
      'the configuration that was measured: its source is listed, its quotas count',
    )
    .option(
      '--what-if <changes...>',
      'other quotas, such as ram=20GB,40GB disk=500GB, or source=500MB a second: all combinations; tiers are ram, disk, disk2',
    )
    .option('--epochs <n>', 'how many', wholeNumber, 10)
    .option('--readers <n>', 'reads of the loader at the same time', wholeNumber, 4)
    .option(
      '--compute-mbps <n>',
      'what the training takes in, in MB/s; default: as measured, else no limit',
      positive,
    )
    .option('--json', 'results as JSON, in place of sentences and the table')
    .option('--svg <file>', 'a chart')
    .description('Says what other quotas would bring, on storage that was measured')
    .action((profile: string, options: SimulateProfileOptions) => simulateProfile(host, profile, options));
}

interface SimulateProfileOptions {
  readonly config: string;
  readonly whatIf?: readonly string[];
  readonly epochs: number;
  readonly readers: number;
  readonly computeMbps?: number;
  readonly json?: boolean;
  readonly svg?: string;
}

/** Bytes that a prefetcher holds by default: the staging buffer of the model. */
const STAGING_MB = 268;

/** Faster than anything that is simulated: memory, a network that nobody uses, a training that only reads. */
const AT_ONCE_MBPS = 1e6;

/** The policy of a configuration that names none. */
const POLICY = 'first-fit';

/**
 * Simulates the training of one worker on storage that was measured: with the tiers of a configuration, and
 * with other quotas. Says in words what each change would bring.
 */
async function simulateProfile(
  host: CommandHost,
  file: string,
  options: SimulateProfileOptions,
): Promise<void> {
  const { config, whatIf = [], epochs, svg, json = false } = options;
  const { ProgressBar } = await import('../../progress.js');
  const { levelsIn } = await import('../shared/look.js');
  const { simulate, variantsOf } = await import('@tiered/simulator');
  const { parseProfile } = await import('@tiered/simulator/calibration');
  const { strategyNamed } = await import('@tiered/simulator/config');
  const { renderChart, renderTable } = await import('@tiered/simulator/report');
  const profile = await readJsonFile(file, 'profile', parseProfile);
  const changes = whatIf.map(changeOf);
  const loaded = await levelsIn(host, config);
  const system = await planned(profile, loaded, options);
  await using source = await openedSource(host, loaded, config);
  const sizesMB = await sizesOf(source);
  const bar = new ProgressBar(host.terminal, host.clock, 'simulating');
  const variants = [{ setup: '', system }, ...(changes.length > 0 ? variantsOf(system, changes) : [])];
  const rows: ReportRow[] = [];
  for (const [index, { setup, system: changed }] of variants.entries()) {
    const room = await withRoom(changed, loaded, source);
    const simulation = { dataset: { sizesMB }, system: room, epochs, batchSize: 1 };
    const [result] = await simulate(simulation, [strategyNamed(POLICY)], { clock: host.clock });
    if (result !== undefined) rows.push({ setup: setup === '' ? 'today' : setup, result });
    bar.update(index + 1, variants.length);
  }
  bar.stop();
  if (json) host.write(`${JSON.stringify(rows, undefined, 2)}\n`);
  else host.write(`${answersOf(rows, epochs).join('\n')}\n${renderTable(rows)}\n`);
  if (svg !== undefined) await writeFile(svg, renderChart(`${config}, ${epochs} epochs`, rows));
}

/** Rates are in MB/s, sizes in GB. */
const RATE = /^(compute|source)$|\.read$/;

/**
 * Parses a change, such as `ram=20GB,40GB`, or `source=200MB` a second.
 * @throws TieredError `TIERED_CONFIG_INVALID` for anything else.
 */
function changeOf(text: string): Change {
  const [, what, list] = /^([\w.-]+)=(.+)$/.exec(text) ?? [];
  if (what === undefined || list === undefined) {
    const expected = `--what-if: expected changes such as ram=20GB,40GB, got ${JSON.stringify(text)}`;
    throw new TieredError('TIERED_CONFIG_INVALID', expected);
  }
  const values = list.split(',');
  if (what === 'workers') return { what, values: values.map(Number) };
  // Scenarios are in GB: a number alone would be bytes here, and mean something else there.
  const alone = values.find((value) => /^[\d.]*$/.test(value));
  if (alone !== undefined) throw configError('--what-if', `a unit, such as ${what}=${alone}GB`, text);
  const unit = RATE.test(what) ? 1e6 : 1e9;
  return { what, values: values.map((size) => parseBytes(size, `--what-if ${what}`) / unit) };
}

/** The system as it was measured, with the quotas of the configuration. Tiers are called ram, disk, disk2. */
async function planned(
  profile: CalibrationProfile,
  { tiers = [] }: HierarchyOptions,
  { readers, computeMbps = profile.computeMBps ?? AT_ONCE_MBPS }: SimulateProfileOptions,
): Promise<SystemModel> {
  const { systemOf } = await import('@tiered/simulator/calibration');
  const system = systemOf(profile, {
    workers: 1,
    networkMBps: AT_ONCE_MBPS,
    staging: {
      name: 'staging',
      capacityMB: STAGING_MB,
      threads: readers,
      read: { points: [[1, AT_ONCE_MBPS]] },
    },
    tiers: tiers.map(({ quota }) => ({ capacityMB: parseBytes(quota) / 1e6, threads: readers })),
    computeMBps: computeMbps,
    preprocessMBps: profile.preprocessMBps ?? AT_ONCE_MBPS,
  });
  const counts = new Map<string, number>();
  const levels = system.levels.map((level, i) => {
    const kind = tiers[i]?.driver.location === undefined ? 'ram' : 'disk';
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    return { ...level, name: count === 1 ? kind : `${kind}${count}` };
  });
  return { ...system, levels };
}

/** Opens the source alone, which has objects. */
async function openedSource(host: CommandHost, config: HierarchyOptions, file: string): Promise<Hierarchy> {
  const { openSource } = await import('../shared/look.js');
  const source = await openSource(host, config);
  if (source.namespace.known > 0) return source;
  await source.close();
  throw new TieredError('TIERED_NOT_FOUND', `${file}: the source has no objects to simulate.`);
}

/** The sizes of all objects, in 10^6 bytes. */
async function sizesOf(source: Hierarchy): Promise<number[]> {
  const sizes: number[] = [];
  for await (const page of source.list()) for (const { size } of page) sizes.push(size / 1e6);
  return sizes;
}

/**
 * Tiers take more than the bytes of objects: the capacity of the model is what a tier of that quota has room
 * for.
 */
async function withRoom(
  system: SystemModel,
  config: HierarchyOptions,
  { namespace }: Hierarchy,
): Promise<SystemModel> {
  const { tiersOf } = await import('../shared/plan.js');
  const { bytesWithRoom } = await import('@tiered/tiering/plans');
  const tiers = tiersOf(config);
  const levels = await Promise.all(
    system.levels.map(async (level, i) => {
      const { [i]: tier } = tiers;
      if (tier === undefined) return level;
      const quotaBytes = level.capacityMB * 1e6;
      const [bytes = 0] = await bytesWithRoom([{ ...tier, quotaBytes }], namespace);
      return bytes === namespace.bytes ? level : { ...level, capacityMB: bytes / 1e6 };
    }),
  );
  return { ...system, levels };
}

/** One sentence for today, and one for each change. */
function answersOf(rows: readonly ReportRow[], epochs: number): string[] {
  const [today, ...changed] = rows;
  if (today === undefined) return [];
  const { seconds } = today.result;
  return [
    `today, for ${epochs === 1 ? '1 epoch' : `${epochs} epochs`}: ${timeOf(seconds)}, ${fromSource(today.result)} from the source`,
    ...changed.map(({ setup, result }) => {
      const gain = 1 - result.seconds / seconds;
      const verdict =
        gain > 0.01
          ? `${Math.round(100 * gain)} % less time`
          : gain < -0.01
            ? `${Math.round(-100 * gain)} % more time`
            : 'no difference';
      return `with ${setup}: ${verdict} (${timeOf(result.seconds)}), ${fromSource(result)} from the source`;
    }),
  ];
}

function timeOf(seconds: number): string {
  return seconds < 120 ? `${seconds.toFixed(1)} s` : `${(seconds / 60).toFixed(1)} min`;
}

function fromSource({ sources }: SimulationResult): string {
  const source = sources.find(({ from }) => from === 'source');
  return source === undefined
    ? 'nothing'
    : `${formatBytes(source.megabytes * 1e6)} (${Math.round(100 * source.share)} %)`;
}
