import { FileSystemDriver } from '@tiered/node-fs-adapter';
import {
  calibrate,
  simulate,
  strategyNamed,
  systemOf,
  type CalibrationProfile,
  type Strategy,
} from '@tiered/simulator';
import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { median } from './lib/alternate.js';
import type { Bench, Check, Row } from './lib/bench.js';
import { withScratch } from './lib/scratch.js';
import { casesOf, makeDatasets, type NamedDataset } from './tiering/cases.js';
import { PIECE_BYTES } from './tiering/dataset.js';
import { EPOCHS, runSetup, throttled, type Case } from './tiering/run.js';
import {
  filledFirst,
  keptBytes,
  localBySdk,
  sourceOnly,
  tiered,
  tieredInPart,
  tieredInQuarter,
  type Setup,
} from './tiering/setups.js';

/** Seconds of a calibration. */
const SECONDS = 20;
const QUICK_SECONDS = 2;

/** A prediction counts as right within so much, and one of what was not measured. */
const TOLERANCE = 0.1;
const TOLERANCE_BEYOND = 0.2;

/** Readers that a calibration has when something else is to be predicted: none of those predicted but the 4. */
const CALIBRATED_READERS = [1, 4, 16];
const FASTER = 2;

/** What a loader that does nothing with its samples comes to, for practical purposes. */
const AT_ONCE = { points: [[1, 1e6]] as const };

/** A setup, and what the simulator knows it by. */
const PREDICTED: readonly { readonly setup: Setup; readonly strategy: Strategy }[] = [
  { setup: sourceOnly, strategy: strategyNamed('staging-buffer') },
  { setup: localBySdk, strategy: strategyNamed('staging-buffer') },
  { setup: filledFirst, strategy: strategyNamed('parallel-staging') },
  { setup: tiered, strategy: strategyNamed('first-fit') },
  { setup: tieredInPart, strategy: strategyNamed('first-fit') },
];

const BY_SOURCE = { setup: sourceOnly, strategy: strategyNamed('staging-buffer') };
const BY_TIER = { setup: tiered, strategy: strategyNamed('first-fit') };
const BY_QUARTER = { setup: tieredInQuarter, strategy: strategyNamed('first-fit') };

/** What is predicted from a calibration of other readers, pieces, room, or of a slower source. */
function beyond({ name, dataset }: NamedDataset, inPieces: boolean): Beyond[] {
  const at = (how: string, change: Partial<Case>) => ({
    name: `${name}, ${how}`,
    dataset,
    readers: 4,
    inPieces,
    ...change,
  });
  const both = [BY_SOURCE, BY_TIER];
  return [
    { which: at('2 readers', { readers: 2 }), predicted: both },
    { which: at('8 readers', { readers: 8 }), predicted: both },
    { which: at('room for 25 %', {}), predicted: [BY_QUARTER] },
    { which: at('source twice as fast', { sourceTimes: FASTER }), predicted: both },
    ...(inPieces ? [{ which: at('pieces of 1 MiB', { pieceBytes: 4 * PIECE_BYTES }), predicted: both }] : []),
  ];
}

interface Beyond {
  readonly which: Case;
  readonly predicted: typeof PREDICTED;
}

/** A setup on a case, by round. */
interface Seen {
  readonly data: string;
  readonly setup: string;
  readonly predicted: number[][];
  readonly measured: number[][];
  /** How far the tries of a calibration were apart, the highest rate over the lowest, at the worst point. */
  readonly calibrations: number[];
  /** Whether the calibration was of something else. */
  readonly isBeyond: boolean;
}

const bench: Bench = {
  summary:
    'epochs of the setups of the bench "tiering", predicted by the simulator from a calibration, and then run: medians of ' +
    'the rounds, each with a calibration of its own; then other readers, pieces, room and a faster source than were calibrated; "spread" is the longest measured time of all epochs over the shortest',
  run: ({ quick, progress }) =>
    withScratch(async (scratch) => {
      progress('making the data');
      const datasets = await makeDatasets(scratch, quick);
      const cases = casesOf(datasets);
      const others = datasets.map((dataset, index) => beyond(dataset, index === 0));
      const rounds = quick ? 1 : 3;
      const seen = cases.map(({ name: data }) =>
        PREDICTED.map(({ setup: { name: setup } }): Seen => ({
          data,
          setup,
          predicted: [],
          measured: [],
          calibrations: [],
          isBeyond: false,
        })),
      );
      const seenBeyond = new Map<string, Seen>();
      for (let round = 1; round <= rounds; round++) {
        for (const [index, which] of cases.entries()) {
          const told = (what: string) => progress(`round ${round} of ${rounds}: ${which.name}, ${what}`);
          await runCase(which, seen[index] ?? [], {
            scratch,
            seconds: quick ? QUICK_SECONDS : SECONDS,
            told,
          });
        }
        for (const plans of others)
          await runBeyond(plans, seenBeyond, {
            scratch,
            seconds: quick ? QUICK_SECONDS : SECONDS,
            told: (what) => progress(`round ${round} of ${rounds}: ${what}`),
          });
      }
      const all = [...seen.flat(), ...seenBeyond.values()];
      return { rows: all.map(rowOf), checks: all.map(checkOf) };
    }),
};

export default bench;

interface Surroundings {
  readonly scratch: string;
  /** Of a calibration. */
  readonly seconds: number;
  readonly told: (what: string) => void;
}

async function runCase(which: Case, seen: readonly Seen[], { scratch, seconds, told }: Surroundings) {
  told('calibrating');
  const profiles = await calibrateBoth(which, scratch, seconds);
  for (const [index, { setup, strategy }] of PREDICTED.entries()) {
    told(setup.name);
    const profile = setup.local === true ? profiles.local : profiles.throttled;
    seen[index]?.calibrations.push(spreadOf(profile));
    seen[index]?.predicted.push(await predict(which, setup, strategy, profile));
    const { epochs } = await runSetup(setup, which, scratch);
    seen[index]?.measured.push(epochs.map(({ seconds: measured }) => measured));
  }
}

/** Predicts and runs what one calibration was not made for. */
async function runBeyond(
  plans: readonly Beyond[],
  seen: Map<string, Seen>,
  { scratch, seconds, told }: Surroundings,
): Promise<void> {
  const [first] = plans;
  if (first === undefined) return;
  told(`calibrating for ${first.which.name} and others`);
  const { throttled: profile } = await calibrateBoth(first.which, scratch, seconds, CALIBRATED_READERS);
  for (const { which, predicted } of plans) {
    for (const { setup, strategy } of predicted) {
      told(`${which.name}, ${setup.name}`);
      const name = `${which.name}: ${setup.name}`;
      const one = seen.get(name) ?? {
        data: which.name,
        setup: setup.name,
        predicted: [],
        measured: [],
        calibrations: [],
        isBeyond: true,
      };
      seen.set(name, one);
      one.calibrations.push(spreadOf(profile));
      one.predicted.push(await predict(which, setup, strategy, faster(profile, which.sourceTimes)));
      const { epochs } = await runSetup(setup, which, scratch);
      one.measured.push(epochs.map(({ seconds: measured }) => measured));
    }
  }
}

/** What would be measured of a source that gives so many times as much. */
function faster(profile: CalibrationProfile, times = 1): CalibrationProfile {
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

function spreadOf({ source, tiers }: CalibrationProfile): number {
  return Math.max(1, ...[source, ...tiers].flatMap(({ spread = { read: 1 } }) => Object.values(spread)));
}

function rowOf({ data, setup, predicted, measured, calibrations }: Seen): Row {
  const [expected, found] = [byEpoch(predicted), byEpoch(measured)];
  const totals = measured.map(sum);
  return {
    data,
    setup,
    'predicted s': expected,
    'measured s': found,
    'predicted / measured': expected.map((seconds, epoch) => seconds / (found[epoch] ?? 0)),
    all: ratio({ predicted, measured }),
    spread: Math.max(...totals) / Math.min(...totals),
    'spread of calibrations': Math.max(...calibrations),
  };
}

function checkOf({ data, setup, isBeyond, ...times }: Seen): Check {
  const value = ratio(times);
  const tolerance = isBeyond ? TOLERANCE_BEYOND : TOLERANCE;
  const name = `${data}, ${setup}: all epochs, predicted / measured`;
  return { name, value, unit: 'x', aim: `1 +- ${tolerance}`, ok: Math.abs(value - 1) <= tolerance };
}

/** Of all epochs together. */
function ratio({ predicted, measured }: Pick<Seen, 'predicted' | 'measured'>): number {
  return median(predicted.map(sum)) / median(measured.map(sum));
}

/** Of each epoch the median of the rounds. */
function byEpoch(rounds: readonly (readonly number[])[]): number[] {
  return Array.from({ length: EPOCHS }, (_, epoch) => median(rounds.map((round) => round[epoch] ?? 0)));
}

/** What the throttled source and a tier give to such a loader, and what the local disk does. */
async function calibrateBoth(
  { dataset, readers, inPieces }: Case,
  scratch: string,
  seconds: number,
  concurrencies: readonly number[] = [readers],
): Promise<{ readonly throttled: CalibrationProfile; readonly local: CalibrationProfile }> {
  const root = await mkdtemp(path.join(scratch, 'calibrated-'));
  const options = {
    seconds,
    bytes: '8GiB' as const,
    concurrencies,
    ...(inPieces && { readBytes: PIECE_BYTES }),
  };
  const disk = () => new FileSystemDriver({ root: dataset.directory });
  const tier = { driver: new FileSystemDriver({ root, writable: true }), quota: 2 * dataset.bytes };
  return {
    throttled: await calibrate({ source: throttled(disk()), tiers: [tier] }, options),
    local: await calibrate({ source: disk() }, { ...options, seconds: seconds / 4 }),
  };
}

/** Seconds of each epoch. */
async function predict(
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

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
