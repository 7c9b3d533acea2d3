import { parseBytes, TieredError, type Hierarchy, type HierarchyOptions } from '@tiered/core';
import { invariant } from '@tiered/core/internal';
import { simulate, type SimulationResult } from '@tiered/simulator';
import { parseProfile, systemOf, type CalibrationProfile } from '@tiered/simulator/calibration';
import { strategyNamed } from '@tiered/simulator/config';
import type { SystemModel } from '@tiered/simulator/model';
import { bytesWithRoom } from '@tiered/tiering/plans';
import { readJsonFile } from '../arguments.js';
import type { CommandHost } from '../host.js';
import type { MeasuredOptions } from '../options.js';
import { openSource } from './look.js';
import { tiersOf } from './plan.js';

/** Bytes that a prefetcher holds by default: the staging buffer of the model. */
const STAGING_MB = 268;

/** Faster than anything that is simulated: memory, a network that nobody uses, a training that only reads. */
const AT_ONCE_MBPS = 1e6;

/** The policy of a configuration that names none. */
const POLICY = 'first-fit';

/** Where a training is, and what was measured there. */
export interface MeasuredPlaces {
  /** The file of a profile. */
  readonly profile: string;
  /** The configuration, by its file and its levels. */
  readonly config: string;
  readonly levels: HierarchyOptions;
}

/** The training of one worker on storage that was measured, with the tiers of a configuration. */
export interface MeasuredTraining extends AsyncDisposable {
  /** As it was measured, with the quotas of the configuration. Tiers are called ram, disk, disk2. */
  readonly system: SystemModel;
  /** The objects of its source, which are listed. */
  readonly objects: number;
  readonly megabytes: number;
  /** Simulates it on this system, or one that differs from it by rates and quotas, from empty tiers. */
  simulate(system: SystemModel, epochs: number): Promise<SimulationResult>;
}

/**
 * Lists the source of a configuration, and makes the system of what was measured.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a file that is no profile, or one of other tiers,
 * `TIERED_NOT_FOUND` for a source without objects, and what the source says.
 */
export async function measuredTraining(
  host: CommandHost,
  { profile: file, config, levels }: MeasuredPlaces,
  options: MeasuredOptions,
): Promise<MeasuredTraining> {
  const profile = await readJsonFile(file, 'profile', parseProfile);
  const system = systemIn(profile, levels, options);
  const source = await openedSource(host, levels, config);
  const close = () => source.close();
  try {
    const sizesMB = await sizesOf(source);
    return {
      system,
      objects: sizesMB.length,
      megabytes: sizesMB.reduce((sum, size) => sum + size, 0),
      simulate: async (changed, epochs) => {
        const room = await withRoom(changed, levels, source);
        const simulation = { dataset: { sizesMB }, system: room, epochs, batchSize: 1 };
        const [result] = await simulate(simulation, [strategyNamed(POLICY)], { clock: host.clock });
        invariant(result !== undefined, 'each strategy has a result');
        return result;
      },
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The system as it was measured, with the quotas of the configuration. */
function systemIn(
  profile: CalibrationProfile,
  { tiers = [] }: HierarchyOptions,
  { readers, computeMbps = profile.computeMBps ?? AT_ONCE_MBPS }: MeasuredOptions,
): SystemModel {
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
