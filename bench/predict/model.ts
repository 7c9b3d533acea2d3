import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { simulate } from '@tiered/simulator';
import { calibrate, systemOf, type CalibrationProfile } from '@tiered/simulator/calibration';
import type { Strategy } from '@tiered/simulator/strategies';
import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { PIECE_BYTES } from '../tiering/dataset.js';
import { EPOCHS, sourceOf, type Case } from '../tiering/run.js';
import { keptBytes, type Setup } from '../tiering/setups.js';

/** What a loader that does nothing with its samples comes to, for practical purposes. */
const AT_ONCE = { points: [[1, 1e6]] as const };

/** What the source and a tier give to such a loader. */
export async function calibrateWithTier(
  which: Case,
  scratch: string,
  seconds: number,
  concurrencies: readonly number[] = [which.readers],
): Promise<CalibrationProfile> {
  const root = await mkdtemp(path.join(scratch, 'calibrated-'));
  const tier = { driver: new FileSystemDriver({ root, writable: true }), quota: 2 * which.dataset.bytes };
  const options = calibrationOf(which, seconds);
  return calibrate({ source: sourceOf(which).source, tiers: [tier] }, { ...options, concurrencies });
}

/** What the local disk gives to it. */
export function calibrateLocal(which: Case, seconds: number): Promise<CalibrationProfile> {
  const source = new FileSystemDriver({ root: which.dataset.directory });
  return calibrate({ source }, calibrationOf(which, seconds));
}

function calibrationOf({ readers, inPieces }: Case, seconds: number) {
  const readBytes = inPieces ? { readBytes: PIECE_BYTES } : {};
  return { seconds, bytes: '8GiB' as const, concurrencies: [readers], ...readBytes };
}

/** Seconds of each epoch. */
export async function predict(
  { dataset, readers }: Case,
  setup: Setup,
  strategy: Strategy,
  profile: CalibrationProfile,
): Promise<number[]> {
  const sizesMB = dataset.objects.map(({ size }) => size / 1e6);
  const capacityMB = readers * Math.max(...sizesMB);
  const tier = { capacityMB: keptBytes(setup, dataset.bytes) / 1e6, threads: readers };
  const system = systemOf(profile, {
    workers: 1,
    computeMBps: 1e6,
    preprocessMBps: 1e6,
    networkMBps: 1,
    staging: { name: 'readers', capacityMB, threads: readers, read: AT_ONCE },
    tiers: profile.tiers.map(() => tier),
  });
  const simulation = { dataset: { sizesMB }, system, epochs: EPOCHS, batchSize: readers };
  const [result] = await simulate(simulation, [strategy]);
  const { epochEnds = [], stagingSeconds = 0 } = result ?? {};
  return epochEnds.map((end, epoch) => end - (epochEnds[epoch - 1] ?? stagingSeconds));
}

/** What would be measured of a source that gives so many times as much. */
export function faster(profile: CalibrationProfile, times = 1): CalibrationProfile {
  const scaled = ({ points, ...rest }: CalibrationProfile['source']['read']) => ({
    ...rest,
    points: points.map(([many, rate]): [number, number] => [many, rate * times]),
  });
  return {
    ...profile,
    source: { ...profile.source, read: scaled(profile.source.read) },
    tiers: profile.tiers.map((tier) => ({ ...tier, ...(tier.place && { place: scaled(tier.place) }) })),
  };
}
