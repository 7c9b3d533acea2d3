import type { CalibrationProfile } from '@tiered/simulator/calibration';
import { strategyNamed } from '@tiered/simulator/config';
import type { Strategy } from '@tiered/simulator/strategies';
import { median } from './lib/alternate.js';
import type { Bench, Check, Row } from './lib/bench.js';
import { withScratch } from './lib/scratch.js';
import { hasSlowMounts } from './lib/slow-mounts.js';
import { calibrateLocal, calibrateWithTier, faster, predict } from './predict/model.js';
import { casesOf, makeDatasets, type Datasets, type NamedDataset } from './tiering/cases.js';
import { PIECE_BYTES } from './tiering/dataset.js';
import { EPOCHS, mountSlowly, runSetup, type Case } from './tiering/run.js';
import {
  filledFirst,
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

/**
 * Readers that a calibration has when something else is to be predicted: none of those predicted but the 4.
 */
const CALIBRATED_READERS = [1, 4, 16];
const FASTER = 2;

/** A setup, and what the simulator knows it by. */
interface Predicted {
  readonly setup: Setup;
  readonly strategy: Strategy;
}

/** What is predicted of a case. */
interface Plan {
  readonly which: Case;
  readonly predicted: readonly Predicted[];
}

const PREDICTED: readonly Predicted[] = [
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
function beyond({ name, dataset }: NamedDataset, inPieces: boolean): Plan[] {
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

/** The small files behind a mount whose calls block, as slow as the timers. */
function plansOf(datasets: Datasets, mounted: string | undefined): Plan[] {
  const plans = casesOf(datasets).map((which) => ({ which, predicted: PREDICTED }));
  if (mounted === undefined) return plans;
  const [, { name, dataset }] = datasets;
  const which = { name: `${name}, FUSE, 4 readers`, dataset, readers: 4, inPieces: false, mounted };
  return [...plans, { which, predicted: [BY_SOURCE, BY_TIER] }];
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
      const [, { dataset }] = datasets;
      await using mount = (await hasSlowMounts('the case on FUSE'))
        ? await mountSlowly(dataset.directory)
        : undefined;
      const plans = plansOf(datasets, mount?.directory);
      const others = datasets.map((dataset, index) => beyond(dataset, index === 0));
      const rounds = quick ? 1 : 3;
      const seen = plans.map(({ which, predicted }) =>
        predicted.map(({ setup: { name: setup } }): Seen => ({
          data: which.name,
          setup,
          predicted: [],
          measured: [],
          calibrations: [],
          isBeyond: false,
        })),
      );
      const seenBeyond = new Map<string, Seen>();
      for (let round = 1; round <= rounds; round++) {
        for (const [index, plan] of plans.entries()) {
          const told = (what: string) => progress(`round ${round} of ${rounds}: ${plan.which.name}, ${what}`);
          await runCase(plan, seen[index] ?? [], {
            scratch,
            seconds: quick ? QUICK_SECONDS : SECONDS,
            told,
          });
        }
        for (const further of others)
          await runBeyond(further, seenBeyond, {
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

async function runCase(
  { which, predicted }: Plan,
  seen: readonly Seen[],
  { scratch, seconds, told }: Surroundings,
): Promise<void> {
  told('calibrating');
  const far = await calibrateWithTier(which, scratch, seconds);
  const isLocal = predicted.some(({ setup }) => setup.local === true);
  const local = isLocal ? await calibrateLocal(which, seconds / 4) : far;
  for (const [index, { setup, strategy }] of predicted.entries()) {
    told(setup.name);
    const profile = setup.local === true ? local : far;
    seen[index]?.calibrations.push(spreadOf(profile));
    seen[index]?.predicted.push(await predict(which, setup, strategy, profile));
    const { epochs } = await runSetup(setup, which, scratch);
    seen[index]?.measured.push(epochs.map(({ seconds: measured }) => measured));
  }
}

/** Predicts and runs what one calibration was not made for. */
async function runBeyond(
  plans: readonly Plan[],
  seen: Map<string, Seen>,
  { scratch, seconds, told }: Surroundings,
): Promise<void> {
  const [first] = plans;
  if (first === undefined) return;
  told(`calibrating for ${first.which.name} and others`);
  const profile = await calibrateWithTier(first.which, scratch, seconds, CALIBRATED_READERS);
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

function spreadOf({ source, tiers }: CalibrationProfile): number {
  return Math.max(
    1,
    ...[source, ...tiers].flatMap(({ spread = { read: 1 } }) =>
      Object.values(spread).map((times) => times ?? 1),
    ),
  );
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

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
