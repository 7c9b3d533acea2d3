import { TieredError, type FetchModel, type PeerModel } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { z } from 'zod';
import { throughput, type StorageClass, type SystemModel, type ThroughputCurve } from '../model/model.js';

/** A measured or planned figure. */
export const positive = z.number().positive();

/** A `ThroughputCurve` in a JSON document. */
export const curveSchema = z.strictObject({
  points: z
    .array(z.tuple([positive, positive]))
    .min(1)
    .refine((points) => points.every(([at], i) => i === 0 || at > (points[i - 1]?.[0] ?? 0)), {
      error: 'points must be in rising order of threads or clients',
    }),
  beyond: z.enum(['hold', 'linear']).optional(),
});

const spread = z.number().min(1);
const place = z.strictObject({
  /** The name of its driver. */
  name: z.string(),
  /** r_j(p), of a tier; t(gamma), of the source. */
  read: curveSchema,
  /** w_j(p), of a tier. */
  write: curveSchema.optional(),
  /** The throughput of the source for reads that fill a tier. */
  place: curveSchema.optional(),
  /**
   * The widest spread of the measurements of one point: the highest over the lowest. Missing in older
   * profiles.
   */
  spread: z.strictObject({ read: spread, write: spread.optional(), place: spread.optional() }).optional(),
});
const profile = z.strictObject({
  version: z.literal(1),
  /** Mean size of the objects that were read. */
  objectBytes: positive,
  source: place,
  /** Fastest first, as in the hierarchy. */
  tiers: z.array(place),
  /** b_c: the throughput of one other worker's tiers by the number of reads at a time, if it was measured. */
  peers: place.optional(),
  /** c, if it was measured. */
  computeMBps: positive.optional(),
  /** beta, if it was measured. */
  preprocessMBps: positive.optional(),
});

/** The measurements of a calibration: plain data, to be saved as JSON. Rates are in 10^6 bytes per second. */
export type CalibrationProfile = z.infer<typeof profile>;

/** The measurements of a tier, or of the source. */
export type PlaceProfile = CalibrationProfile['source'];

/**
 * Validates a profile that was read from a file.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the first invalid field.
 */
export function parseProfile(value: unknown): CalibrationProfile {
  const parsed = profile.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = ['profile', ...(issue?.path ?? [])].join('.');
  const message = `${field}: expected what "tiered calibrate" writes (${issue?.message ?? 'another form'})`;
  throw new TieredError('TIERED_CONFIG_INVALID', message);
}

/** Measurements of one point that differ by more than this factor were disturbed by something else. */
const STEADY = 1.5;

/**
 * Describes in sentences which curves of a profile not to trust: those with a point that gave more than 1.5
 * times as much at one time as at another, as on a machine or a source that others use. Empty if nothing
 * seems wrong.
 */
export function unsteadyIn({ source, tiers, peers }: CalibrationProfile): string[] {
  return [source, ...tiers, ...(peers ? [peers] : [])].flatMap(({ name, spread: spreads = { read: 1 } }) =>
    Object.entries(spreads)
      .filter((one): one is [string, number] => (one[1] ?? 1) > STEADY)
      .map(
        ([curve, times]) =>
          `${name}: one try at "${curve}" was ${times.toFixed(1)} times as fast as another. ` +
          'Measure again while nobody else uses the machine and the storage, or for longer.',
      ),
  );
}

/**
 * Returns the model by which `Hierarchy` chooses places: s / (r_j(p) / p), where p is the current number of
 * reads in flight (section 4). Set nothing on `tiers` and `source` that the hierarchy does not have: levels
 * are counted as the profile counts them.
 *
 * The time that a copy saves (`savedMs`) is split into bytes and latency. Latency is the time of one read
 * alone beyond that of its bytes at the highest rate. It is shared by as many reads as are worthwhile for the
 * source. If peers were measured, `peers` is `peerModelOf`.
 */
export function fetchModelOf(measured: CalibrationProfile): FetchModel {
  const { tiers, source, objectBytes } = measured;
  const most = Math.max(...source.read.points.map(([, rate]) => rate));
  const alone = throughput(source.read, 1);
  const latencyMs = Math.max(0, objectBytes / 1000 / alone - objectBytes / 1000 / most);
  const shared = latencyMs / fewestOf(source.read);
  const curves = [...tiers, source].map(({ read }) => read);
  return {
    fetchMs: (level, bytes, underWay) => {
      const points = curves[level];
      return points === undefined ? Infinity : bytes / 1000 / (throughput(points, underWay) / underWay);
    },
    savedMs: (bytes) => shared + bytes / 1000 / most,
    ...(measured.peers && { peers: (workers) => peerModelOf(measured, workers) }),
  };
}

/**
 * Returns the model by which a worker of a cluster chooses between a peer and the source: s / (b_c(p) / p),
 * and s / (t(gamma) / gamma), for the current number of reads in flight. A worker knows only its own reads,
 * and assumes that all workers read as many from the source as it does.
 * @throws TieredError `TIERED_CONFIG_INVALID` if peers were not measured.
 */
export function peerModelOf({ source, peers }: CalibrationProfile, workers: number): PeerModel {
  if (peers === undefined)
    throw configError('profile.peers', 'what "tiered calibrate --peers" measures', undefined);
  const ms = ({ read }: PlaceProfile, bytes: number, underWay: number) =>
    bytes / 1000 / (throughput(read, underWay) / underWay);
  return {
    peerMs: (bytes, underWay) => ms(peers, bytes, underWay),
    sourceMs: (bytes, underWay) => ms(source, bytes, workers * underWay),
  };
}

/**
 * Converts a throughput of operations at a time to one of workers that make this many each: gamma workers
 * read from the source with gamma x p_0 threads.
 */
function ofWorkers({ points, ...rest }: ThroughputCurve, threads: number): ThroughputCurve {
  return { points: points.map(([operations, rate]) => [operations / threads, rate] as const), ...rest };
}

/** This part of the highest rate counts as the highest. */
const ENOUGH = 0.95;

/** Returns the fewest operations at a time that reached 95 % of a curve's highest rate. */
function fewestOf({ points }: ThroughputCurve): number {
  const most = Math.max(...points.map(([, rate]) => rate));
  return Math.ceil(points.find(([, rate]) => rate >= ENOUGH * most)?.[0] ?? 1);
}

/**
 * Returns the worthwhile number of reads at a time for the source: the fewest that reached 95 % of the
 * highest rate. For `adaptiveAutotuner({ initialProducers })`, which searches from there.
 */
export function initialProducersOf({ source: { read } }: CalibrationProfile): number {
  return fewestOf(read);
}

/**
 * Returns the worthwhile number of concurrent requests to fill tiers: for each tier the fewest that reached
 * 95 % of the highest rate, and of these the most. For `new PlacementHandler({ concurrency })`. Undefined if
 * this was not measured for any tier.
 */
export function placementConcurrencyOf({ tiers }: CalibrationProfile): number | undefined {
  const fewest = tiers.flatMap(({ place }) => (place === undefined ? [] : fewestOf(place)));
  return fewest.length === 0 ? undefined : Math.max(...fewest);
}

/** The part of a system that a profile does not contain. */
export type SystemRest = Pick<SystemModel, 'workers' | 'staging'> & {
  /** b_c, if it was not measured. */
  readonly networkMBps?: number;
  /** d_j and p_j of each tier. */
  readonly tiers: readonly Pick<StorageClass, 'capacityMB' | 'threads'>[];
  /** c and beta, if they were not measured. */
  readonly computeMBps?: number;
  readonly preprocessMBps?: number;
};

/**
 * Makes the system for the simulator from measured and planned figures.
 * @throws TieredError `TIERED_CONFIG_INVALID` if the number of tiers is not the measured one, or if c, beta
 * or b_c is given nowhere.
 */
export function systemOf(measured: CalibrationProfile, rest: SystemRest): SystemModel {
  const { tiers, workers, staging } = rest;
  if (tiers.length !== measured.tiers.length)
    throw configError('tiers', `${measured.tiers.length} tiers, as in the profile`, tiers.length);
  const peers = measured.peers?.read.points.map(([, rate]) => rate);
  const found = { ...measured, networkMBps: peers && Math.max(...peers) };
  const known = (field: 'computeMBps' | 'preprocessMBps' | 'networkMBps') => {
    const rate = rest[field] ?? found[field];
    if (rate === undefined) throw configError(field, 'a rate, because it was not measured', undefined);
    return rate;
  };
  return {
    workers,
    networkMBps: known('networkMBps'),
    staging,
    computeMBps: known('computeMBps'),
    preprocessMBps: known('preprocessMBps'),
    source: ofWorkers(measured.source.read, staging.threads),
    levels: measured.tiers.map(({ name, read, write, place }, i) => ({
      name,
      read,
      ...(write && { write }),
      ...(place && { place: ofWorkers(place, staging.threads) }),
      capacityMB: tiers[i]?.capacityMB ?? 0,
      threads: tiers[i]?.threads ?? 1,
    })),
  };
}
