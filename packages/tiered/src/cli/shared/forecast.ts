import type { Rate } from '@tiered/control';
import type { SystemModel, ThroughputCurve } from '@tiered/simulator/model';
import type { MeasuredTraining } from './measured-training.js';

/** What a training reads within a rate: an object takes a request, at least. */
export function MBpsWithin({ objects, megabytes }: MeasuredTraining, { bytes, operations }: Rate): number {
  return Math.min(bytes / 1e6, operations === Infinity ? Infinity : (operations * megabytes) / objects);
}

/** Bytes and requests of a training that reads so much. */
export function rateAt({ objects, megabytes }: MeasuredTraining, MBps: number): Rate {
  return { bytes: MBps * 1e6, operations: megabytes > 0 ? (MBps * objects) / megabytes : 0 };
}

/** What the epochs of a training take, from empty tiers. */
export interface Epochs {
  readonly firstSeconds: number;
  /** Of each later one. */
  readonly laterSeconds: number;
  /** What the first epoch reads from the source in a second, which is everything. */
  readonly firstMBps: number;
  /** What a later one reads, as its tiers have no room for it. */
  readonly laterMBps: number;
}

/**
 * Simulates two epochs of a training that gets no more than this from its source. First fit replaces nothing,
 * so that each later epoch is as the second one.
 */
export async function epochsWithin(training: MeasuredTraining, MBps: number): Promise<Epochs> {
  const { system, megabytes } = training;
  const { epochEnds, sources } = await training.simulate(within(system, MBps), 2);
  const [firstSeconds = 0, end = 0] = epochEnds;
  const laterSeconds = end - firstSeconds;
  const read = sources.find(({ from }) => from === 'source')?.megabytes ?? 0;
  return {
    firstSeconds,
    laterSeconds,
    firstMBps: rate(megabytes, firstSeconds),
    laterMBps: rate(Math.max(0, read - megabytes), laterSeconds),
  };
}

/** From this part of its time on in which it computes, a training is as fast as it can be. */
const COMPUTES = 0.95;

/** Whether the later epochs compute all the time, so that the training needs what they read. */
export function isBusy({ system, megabytes }: MeasuredTraining, { laterSeconds }: Epochs): boolean {
  return megabytes / system.computeMBps >= COMPUTES * laterSeconds;
}

function rate(megabytes: number, seconds: number): number {
  return seconds > 0 ? megabytes / seconds : 0;
}

/** A system whose source gives at most this, to readers and to those who fill tiers. */
function within(system: SystemModel, most: number): SystemModel {
  const bounded = ({ points }: ThroughputCurve): ThroughputCurve => ({
    points: points.map(([at, MBps]) => [at, Math.min(MBps, most)] as const),
  });
  const levels = system.levels.map((level) =>
    level.place === undefined ? level : { ...level, place: bounded(level.place) },
  );
  return { ...system, source: bounded(system.source), levels };
}
