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
import { casesOf, makeDatasets } from './tiering/cases.js';
import { PIECE_BYTES } from './tiering/dataset.js';
import { EPOCHS, runSetup, throttled, type Case } from './tiering/run.js';
import {
  filledFirst,
  keptBytes,
  localBySdk,
  sourceOnly,
  tiered,
  tieredInPart,
  type Setup,
} from './tiering/setups.js';

/** Seconds of a calibration. */
const SECONDS = 20;
const QUICK_SECONDS = 2;

/** A prediction counts as right within so much. */
const TOLERANCE = 0.1;

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

/** A setup on a case, by round. */
interface Seen {
  readonly data: string;
  readonly setup: string;
  readonly predicted: number[][];
  readonly measured: number[][];
}

const bench: Bench = {
  summary:
    'epochs of the setups of the bench "tiering", predicted by the simulator from a calibration, and then run: medians of ' +
    'the rounds, each with a calibration of its own; "spread" is the longest measured time of all epochs over the shortest',
  run: ({ quick, progress }) =>
    withScratch(async (scratch) => {
      progress('making the data');
      const cases = casesOf(await makeDatasets(scratch, quick));
      const rounds = quick ? 1 : 3;
      const seen = cases.map(({ name: data }) =>
        PREDICTED.map(({ setup: { name: setup } }): Seen => ({ data, setup, predicted: [], measured: [] })),
      );
      for (let round = 1; round <= rounds; round++) {
        for (const [index, which] of cases.entries()) {
          const told = (what: string) => progress(`round ${round} of ${rounds}: ${which.name}, ${what}`);
          await runCase(which, seen[index] ?? [], {
            scratch,
            seconds: quick ? QUICK_SECONDS : SECONDS,
            told,
          });
        }
      }
      return { rows: seen.flat().map(rowOf), checks: seen.flat().map(checkOf) };
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
    seen[index]?.predicted.push(await predict(which, setup, strategy, profile));
    const { epochs } = await runSetup(setup, which, scratch);
    seen[index]?.measured.push(epochs.map(({ seconds: measured }) => measured));
  }
}

function rowOf({ data, setup, predicted, measured }: Seen): Row {
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
  };
}

function checkOf({ data, setup, ...times }: Seen): Check {
  const value = ratio(times);
  const name = `${data}, ${setup}: all epochs, predicted / measured`;
  return { name, value, unit: 'x', aim: `1 +- ${TOLERANCE}`, ok: Math.abs(value - 1) <= TOLERANCE };
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
): Promise<{ readonly throttled: CalibrationProfile; readonly local: CalibrationProfile }> {
  const root = await mkdtemp(path.join(scratch, 'calibrated-'));
  const options = {
    seconds,
    bytes: '8GiB' as const,
    concurrencies: [readers],
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
