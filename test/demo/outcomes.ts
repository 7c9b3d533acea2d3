import type { Dataset } from '../../examples/mnist/dataset.js';
import type { Outcome } from '../../examples/mnist/run.js';
import { SETUPS, type Place, type SetupName } from '../../examples/mnist/setups.js';

export const DATASET: Dataset = { directory: '/none', files: {}, shards: 50, samples: 60_000, bytes: 50e6 };

type Bytes = Readonly<Partial<Record<Place, number>>>;
type Epoch = readonly [seconds: number, waiting: number, bytesFrom: Bytes];

const FROM_SOURCE: Bytes = { source: 50e6 };
const FROM_DISK: Bytes = { disk: 50e6 };
const MIXED: Bytes = { RAM: 8e6, disk: 20e6, source: 22e6 };

/** A run with round figures: 10 s without tiers, of which it waited `waiting` in each epoch. */
export function outcomes({ waiting = 2 } = {}): Outcome[] {
  return [
    outcome(
      'loop by hand',
      0,
      [4, 3, 3].map((all) => [all, waiting, FROM_SOURCE]),
    ),
    outcome(
      'local only',
      0,
      [1, 1, 1].map((all) => [all, 0, FROM_DISK]),
    ),
    outcome(
      'cache everything first',
      50e6,
      [1, 1, 1].map((all) => [all, 0, FROM_DISK]),
      3,
    ),
    outcome('tiered', 28e6, [
      [4, 2, FROM_SOURCE],
      [1, 0.5, MIXED],
      [1, 0.5, MIXED],
    ]),
  ];
}

function outcome(name: SetupName, keptBytes: number, epochs: readonly Epoch[], copying?: number): Outcome {
  const setup = SETUPS.find((each) => each.name === name);
  if (setup === undefined) throw new Error(`There is no setup ${name}.`);
  const readsSource = setup.levels.includes('source');
  return {
    setup,
    order: 'order',
    weights: 'weights',
    filling: copying === undefined ? undefined : { seconds: copying, ...use(FROM_SOURCE, readsSource) },
    epochs: epochs.map(([seconds, stallSeconds, bytesFrom]) => ({
      seconds,
      stallSeconds,
      samples: DATASET.samples,
      distinctSamples: DATASET.samples,
      bytes: DATASET.bytes,
      accuracy: 0.9,
      ...use(bytesFrom, readsSource),
    })),
    keptBytes,
    usedBytes: keptBytes,
    quotaBytes: keptBytes,
  };
}

function use(bytesFrom: Bytes, readsSource: boolean) {
  const bytes = readsSource ? (bytesFrom.source ?? 0) : 0;
  return {
    source: { operations: bytes / 1e6, bytes },
    bytesFrom: { RAM: 0, disk: 0, source: 0, ...bytesFrom },
  };
}
