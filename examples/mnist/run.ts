import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { systemClock, type Hierarchy } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import type { Dataset } from './dataset.js';
import { Meter, type Use } from './meter.js';
import type { Digits } from './mnist.js';
import { buildModel, type ModelName } from './model.js';
import type { Progress } from './progress.js';
import { byHand, byPrefetcher } from './readers.js';
import type { Setup } from './setups.js';
import type { Source } from './store.js';
import { sortedKeys, train, type Trained, type TrainedEpoch } from './train.js';

export const EPOCHS = 3;

/** Copies under way when tiers are filled ahead; enough to keep the source's link busy. */
const COPIES_AT_ONCE = 6;

/** What is the same in all setups. */
export interface Experiment {
  readonly dataset: Dataset;
  readonly source: Source;
  readonly testDigits: Digits;
  readonly model: ModelName;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

/** An epoch, and where its bytes came from. */
interface Epoch extends TrainedEpoch, Use {}

/** A part of a run: filling the tiers, or an epoch. */
export interface Phase extends Use {
  readonly seconds: number;
}

/** Everything that was seen of one setup. */
export interface Outcome extends Trained {
  readonly setup: Setup;
  /** Filling the tiers before the first epoch, where the setup does that. */
  readonly filling: Phase | undefined;
  readonly epochs: readonly Epoch[];
  /** Bytes on the tiers at the end, and what they may hold. */
  readonly keptBytes: number;
  /** Of the quotas of all tiers, and what they take on their storage. */
  readonly usedBytes: number;
  readonly quotaBytes: number;
}

/** All parts of a run, in order. */
export function phasesOf({ filling, epochs }: Outcome): readonly Phase[] {
  return filling === undefined ? epochs : [filling, ...epochs];
}

/**
 * Trains under all setups. They take turns, an epoch each: whatever else the machine does for a while slows
 * down all of them.
 */
export async function runSetups(setups: readonly Setup[], experiment: Experiment): Promise<Outcome[]> {
  const runs = setups.map((setup) => inScratch(setup, experiment));
  const outcomes = new Map<number, Outcome>();
  try {
    while (outcomes.size < runs.length)
      for (const [i, run] of runs.entries()) {
        if (outcomes.has(i)) continue;
        const step = await run.next();
        if (step.done === true) outcomes.set(i, step.value);
      }
    return setups.flatMap((_, i) => outcomes.get(i) ?? []);
  } finally {
    experiment.progress.stop();
    // Those that have not ended clear up.
    await Promise.allSettled(runs.map((run) => run.return(undefined as never)));
  }
}

type Run = AsyncGenerator<void, Outcome, undefined>;

/** Trains under one setup, in a directory that is gone afterwards. */
async function* inScratch(setup: Setup, experiment: Experiment): Run {
  const scratch = await mkdtemp(path.join(os.tmpdir(), 'tiered-demo-'));
  try {
    return yield* measure(setup, experiment, scratch);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function* measure(setup: Setup, experiment: Experiment, scratch: string): Run {
  const { dataset, progress, seed, signal, testDigits } = experiment;
  const source = new MetricsDriver(experiment.source.connect());
  const surroundings = { source, scratch, localDirectory: dataset.directory, bytes: dataset.bytes };
  await using hierarchy = await setup.build(surroundings).open({ signal });
  let keptBytes = 0;
  hierarchy.on('placed', ({ bytes }) => (keptBytes += bytes));
  const meter = new Meter(source, hierarchy, setup);
  const keys = await sortedKeys(hierarchy, signal);

  let filling: Phase | undefined;
  if (setup.fillFirst) {
    progress.say(`${setup.name}: copying everything to the disk tier`);
    filling = await fill(hierarchy, keys, meter, experiment);
    yield;
  }
  const model = buildModel(experiment.model, seed);
  try {
    const epochs: Epoch[] = [];
    const readEpoch = setup.byHand ? byHand(source, dataset.files) : byPrefetcher(hierarchy);
    const training = train(model, keys, {
      ...{ epochs: EPOCHS, seed, testDigits, signal, readEpoch },
      onShard: () => progress.shard(),
    });
    for (;;) {
      progress.begin(setup.name, epochs.length + 1, EPOCHS, dataset.shards);
      const step = await training.next();
      // What tiers still take belongs to the epoch, and not to the setup that comes next.
      const before = systemClock.now();
      await hierarchy.idle({ signal });
      progress.stop();
      if (step.done === true) {
        const { tiers } = hierarchy.stats();
        const usedBytes = tiers.reduce((sum, tier) => sum + tier.usedBytes, 0);
        const quotaBytes = tiers.reduce((sum, tier) => sum + tier.quotaBytes, 0);
        return { ...step.value, setup, filling, epochs, keptBytes, usedBytes, quotaBytes };
      }
      const seconds = step.value.seconds + (systemClock.now() - before) / 1000;
      epochs.push({ ...step.value, seconds, ...meter.lap() });
      progress.epoch(step.value);
      yield;
    }
  } finally {
    model.dispose();
  }
}

/** Puts everything on the tiers, as fast as the source gives it. */
async function fill(
  hierarchy: Hierarchy,
  keys: readonly string[],
  meter: Meter,
  { signal }: Experiment,
): Promise<Phase> {
  const start = systemClock.now();
  const remaining = keys.values();
  const copyTheRest = async () => {
    for (const key of remaining) await hierarchy.place(key, { signal });
  };
  await Promise.all(Array.from({ length: COPIES_AT_ONCE }, copyTheRest));
  return { seconds: (systemClock.now() - start) / 1000, ...meter.lap() };
}
