import { systemClock } from '@tiered/core';
import { loadChecksum } from '@tiered/core/internal';
import fc from 'fast-check';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { addFigures, noFigures, type Figures } from '../figures.js';
import { schedules, type Schedule } from '../steps.js';
import { Finding } from './finding.js';
import { runIndexesInProcess } from './index-in-process.js';
import { World } from './world.js';

/** Schedules with one seed: that of a finding is found again in as many at most. */
const BATCH = 50;
/**
 * Connections to indexes are closed when what is left of them is collected: after so many schedules at the
 * latest.
 */
const COLLECT_EVERY = 10;
/** Shrinking a schedule may take so long, in milliseconds. */
const SHRINK_MS = 30_000;

/** What schedules there are, and what goes through them. */
export interface Campaign<S> {
  readonly schedules: fc.Arbitrary<S>;
  /** @throws Finding for what must not be. */
  readonly run: (schedule: S, figures: Figures) => Promise<void>;
}

/** Processes that share disks. */
export const SHARED_DISKS: Campaign<Schedule> = {
  schedules,
  run: (schedule, figures) => World.run(schedule, figures),
};

/** What was found, and how to see it again. */
export interface Found<S> {
  readonly seed: number;
  readonly path: string;
  readonly schedule: S;
  readonly error: string;
}

/** What to do. */
export interface CampaignOptions {
  readonly seed: number;
  /** Begins no batch after so long, in milliseconds. */
  readonly ms: number;
  /** Goes to one schedule of the first batch only. */
  readonly path?: string | undefined;
  /** Shrinking a finding takes so long at most, in milliseconds. Default: 30 s. */
  readonly shrinkMs?: number;
  readonly onBatch?: (figures: Figures) => void;
}

/**
 * Goes through schedules until the time is up, or something was found. Batch i has the seed after the i-th.
 */
export async function runCampaign<S>(
  campaign: Campaign<S>,
  options: CampaignOptions,
): Promise<Found<S> | undefined> {
  const { seed, ms, path, shrinkMs = SHRINK_MS, onBatch } = options;
  runIndexesInProcess();
  // Compiled by another thread: nothing may be that takes time of the machine.
  await loadChecksum();
  const until = systemClock.now() + ms;
  for (let batch = 0; batch === 0 || (path === undefined && systemClock.now() < until); batch++) {
    const figures = noFigures();
    const found = await runBatch(campaign, seed + batch, path, shrinkMs, figures);
    onBatch?.(figures);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function runBatch<S>(
  { schedules, run }: Campaign<S>,
  seed: number,
  path: string | undefined,
  shrinkMs: number,
  sum: Figures,
): Promise<Found<S> | undefined> {
  let kind: string | undefined;
  let until = Infinity;
  const property = fc.asyncProperty(schedules, async (schedule) => {
    // What is tried after that passes, so that the smallest until then is what is told.
    if (systemClock.now() > until) return;
    const figures = noFigures();
    try {
      await run(schedule, figures);
    } catch (error) {
      // What shrinking tries says nothing of how often it happens, and may find something else.
      if (kind === undefined) addFigures(sum, { ...figures, findings: 1 });
      if (kind === undefined) until = systemClock.now() + shrinkMs;
      kind ??= kindOf(error);
      if (kind === kindOf(error)) throw error;
    }
    if (kind === undefined) addFigures(sum, figures);
    if (sum.schedules % COLLECT_EVERY === 0) await closeCollected();
  });
  const details = await fc.check(property, {
    seed,
    numRuns: BATCH,
    ...(path === undefined ? {} : { path }),
    ...(path === undefined ? {} : { endOnFailure: true }),
  });
  const [schedule] = details.counterexample ?? [];
  if (schedule === undefined) return undefined;
  const error = details.errorInstance instanceof Error ? details.errorInstance : undefined;
  return {
    seed,
    path: details.counterexamplePath ?? '',
    schedule,
    error: error?.message ?? String(details.errorInstance),
  };
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/**
 * Closes connections that nobody has any more. What was collected is told of in a turn of the event loop,
 * which no schedule lets have one.
 */
async function closeCollected(): Promise<void> {
  collect();
  await systemClock.turn();
  collect();
  await systemClock.turn();
}

function kindOf(error: unknown): string {
  return error instanceof Finding ? error.kind : 'error';
}
