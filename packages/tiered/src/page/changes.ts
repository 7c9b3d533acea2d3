import { formatBytes, type OperationOptions } from '@tiered/core';
import type { LoaderFigures, TierFigures } from '@tiered/loader';
import { scaledDown, simulate, variantsOf, type Change, type SimulationResult } from '@tiered/simulator';
import {
  initialProducersOf,
  parseProfile,
  systemOf,
  unsteadyIn,
  type CalibrationProfile,
} from '@tiered/simulator/calibration';
import { strategyNamed } from '@tiered/simulator/config';
import type { SystemModel } from '@tiered/simulator/model';

/** Faster than anything that is simulated. */
const AT_ONCE_MBPS = 1e6;
/** Bytes that a prefetcher holds by default, in 10^6. */
const STAGING_MB = 268;
/** In the first epoch tiers are filled, and all later ones are like the second. */
const EPOCHS = 2;
/** So many samples give times to 1 %. */
const ENOUGH_SAMPLES = 20_000;
/** Staging buffers keep so many batches at least, for the same reason, and an epoch so many of all ranks. */
const ENOUGH_STAGED = 2;
const ENOUGH_BATCHES = 20;
/** What tiers of a loader do by default, and what the simulator is asked for. */
const POLICY = 'first-fit';

/** A change, and what it would make of an epoch. */
interface ChangeRow {
  readonly change: string;
  readonly firstSeconds: number;
  /** Of each later epoch. */
  readonly laterSeconds: number;
  /** What the source would give in both. */
  readonly sourceBytes: number;
}

/** What the simulator says, and what it says it of. */
export interface Changes {
  readonly rows: readonly ChangeRow[];
  /** In sentences. Without rows, why there are none. */
  readonly assumptions: readonly string[];
}

/**
 * Simulates the training of a loader as it is, and with one change at a time.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a profile of other tiers, or none; the signal's reason.
 */
export async function changesOf(
  figures: LoaderFigures,
  given: CalibrationProfile,
  options: OperationOptions,
): Promise<Changes> {
  const profile = parseProfile(given);
  const { samples, bytes, batchSize, ranks, tiers } = figures;
  const computing = computeSeconds(figures);
  if (tiers === undefined) return none('the samples are in several hierarchies, and a profile is of one.');
  if (computing === undefined || bytes === 0) return none('no epoch was measured yet.');
  const meanMB = bytes / samples / 1e6;
  const readers = initialProducersOf(profile);
  const system = systemAsItIs(figures, tiers, profile, {
    readers,
    computeMBps: computing === 0 ? AT_ONCE_MBPS : meanMB / computing,
  });
  const simulation = { dataset: { samples, meanMB }, system, epochs: EPOCHS, batchSize: batchSize * ranks };
  const factor = Math.max(
    1,
    Math.min(
      samples / ENOUGH_SAMPLES,
      samples / (ENOUGH_BATCHES * batchSize * ranks),
      system.staging.capacityMB / (ENOUGH_STAGED * batchSize * meanMB),
    ),
  );
  const rows: ChangeRow[] = [];
  for (const { change, system: changed } of variants(system, tiers, bytes, computing > 0)) {
    const smaller = scaledDown({ ...simulation, system: changed }, factor);
    const [result] = await simulate(smaller, [strategyNamed(POLICY)], options);
    if (result !== undefined && result.refused === undefined) rows.push(rowOf(change, result, factor));
  }
  return { rows, assumptions: assumptionsOf({ figures, profile, readers, computing, factor }) };
}

function none(reason: string): Changes {
  return { rows: [], assumptions: [`Nothing was simulated: ${reason}`] };
}

/**
 * Seconds of an epoch for each sample, without those in which reading was waited for. Where batches are not
 * made in time, making them is a part of it. Undefined where nothing was measured.
 */
function computeSeconds({ epochs }: LoaderFigures): number | undefined {
  let [seconds, samples] = [0, 0];
  for (const epoch of epochs) {
    const { reading, waitedSeconds } = epoch;
    const waited = Math.min(
      waitedSeconds,
      reading === undefined ? Infinity : reading.starved * reading.seconds,
    );
    seconds += Math.max(0, epoch.seconds - waited);
    samples += epoch.samples;
  }
  return samples === 0 ? undefined : seconds / samples;
}

function systemAsItIs(
  { ranks, epochs }: LoaderFigures,
  tiers: readonly TierFigures[],
  profile: CalibrationProfile,
  { readers, computeMBps }: { readonly readers: number; readonly computeMBps: number },
): SystemModel {
  const memory = epochs.at(-1)?.reading?.limits.memoryBytes;
  const system = systemOf(profile, {
    workers: ranks,
    networkMBps: AT_ONCE_MBPS,
    staging: {
      name: 'staging',
      capacityMB: memory === undefined ? STAGING_MB : memory / 1e6,
      threads: readers,
      read: { points: [[1, AT_ONCE_MBPS]] },
    },
    tiers: tiers.map(({ quotaBytes }) => ({ capacityMB: quotaBytes / 1e6, threads: readers })),
    computeMBps,
    // A part of what was measured as computing.
    preprocessMBps: AT_ONCE_MBPS,
  });
  return { ...system, levels: system.levels.map((level, i) => ({ ...level, name: `tier${i}` })) };
}

/** A change in words, and what the simulator is told. */
interface Named {
  readonly change: string;
  readonly by: Change;
}

/** The system as it is, and with each change that there is something to change for. */
function variants(
  system: SystemModel,
  tiers: readonly TierFigures[],
  bytes: number,
  computes: boolean,
): { readonly change: string; readonly system: SystemModel }[] {
  const { source, computeMBps } = system;
  const rate = Math.max(...source.points.map(([, MBps]) => MBps));
  const changes: Named[] = [
    ...roomChanges(tiers, bytes),
    { change: "twice the source's throughput", by: { what: 'source', values: [2 * rate] } },
    ...(computes
      ? [{ change: 'a training twice as fast', by: { what: 'compute', values: [2 * computeMBps] } }]
      : []),
  ];
  return [
    { change: 'as it is', system },
    ...changes.flatMap(({ change, by }) =>
      variantsOf(system, [by]).map((variant) => ({ change, system: variant.system })),
    ),
  ];
}

/** More room on the first tier, and room for everything on the last, where there is not enough. */
function roomChanges(tiers: readonly TierFigures[], bytes: number): Named[] {
  const [first] = tiers;
  const room = tiers.reduce((sum, { quotaBytes }) => sum + quotaBytes, 0);
  if (first === undefined) return [];
  const last = tiers.length - 1;
  const change = (tier: number, what: string, size: number): Named => ({
    change: `tier ${tier} with ${what}: ${formatBytes(size)}`,
    by: { what: `tier${tier}`, values: [size / 1e9] },
  });
  return [
    change(0, 'twice the room', 2 * first.quotaBytes),
    ...(room < bytes ? [change(last, 'room for all samples', bytes)] : []),
  ];
}

function rowOf(change: string, { epochEnds, sources }: SimulationResult, factor: number): ChangeRow {
  const [first = 0, second = 0] = epochEnds;
  const megabytes = sources.find(({ from }) => from === 'source')?.megabytes ?? 0;
  return {
    change,
    firstSeconds: first * factor,
    laterSeconds: (second - first) * factor,
    sourceBytes: Math.round(megabytes * factor * 1e6),
  };
}

interface Assumed {
  readonly figures: LoaderFigures;
  readonly profile: CalibrationProfile;
  readonly readers: number;
  readonly computing: number;
  readonly factor: number;
}

function assumptionsOf({ figures, profile, readers, computing, factor }: Assumed): string[] {
  const { samples, bytes, ranks } = figures;
  const mean = formatBytes(Math.round(bytes / samples));
  return [
    `Samples have ${mean} each, and are read as fast as objects of ${formatBytes(Math.round(profile.objectBytes))} were in the profile, ${readers} at a time. Smaller reads are slower.`,
    'Tiers are empty at first. What was read is kept on the first tier with room, and nothing is evicted.',
    'Every epoch reads each sample once, in random order. Reading ahead has the memory that it has now.',
    `Computing takes ${(computing * 1000).toPrecision(2)} ms a sample, as measured: all time but that in which reading was waited for. Making batches is a part of it.`,
    ...(ranks > 1 ? [`${ranks} ranks share the source, and each has tiers and a processor of its own.`] : []),
    ...(factor > 1
      ? [
          `One in ${factor.toFixed(factor < 10 ? 1 : 0)} samples was simulated, with room and memory smaller by the same factor.`,
        ]
      : []),
    ...unsteadyIn(profile),
  ];
}
