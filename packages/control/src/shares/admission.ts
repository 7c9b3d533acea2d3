import { invariant } from '@tiered/core/internal';
import { combined, NO_BOUND, NO_RATE, type Rate } from './rate.js';
import { decide, type JobDecision } from './decide.js';
import { recordOf } from './terms.js';
import type { Seen } from '../records/board.js';
import type { Stage, TermsRecord } from '../records/stage-record.js';

/** A job that may be started. */
export interface Candidate {
  readonly job: string;
  readonly terms: TermsRecord;
  /** The name of the source it would read. */
  readonly source: string;
  /** The rate it could use. `Infinity` for everything. */
  readonly wanted: Rate;
  /** The rate it needs. Default: `wanted`. An `Infinity` part is no need: the job takes what it gets. */
  readonly needed?: Rate | undefined;
  /** The budget it declares for the source. Default: none. */
  readonly budget?: Rate | undefined;
}

/** The effect on one job. */
export interface Effect {
  readonly job: string;
  readonly wanted: Rate;
  /** The rate it uses now. Zero if it is not present yet. */
  readonly used: Rate;
  /** Its share now. Undefined if it is not present yet. */
  readonly before: Rate | undefined;
  readonly after: Rate;
  /** The fraction of the wanted rate that it would have, 0 to 1. It is 1 for a job that wants everything. */
  readonly served: number;
  /**
   * Factor by which its present reads would take longer. 1 if it keeps what it uses, or is not present yet.
   */
  readonly slowdown: number;
  /** Whether its reads would take over a twentieth longer. */
  readonly isSlowedByIt: boolean;
  /**
   * Fraction of the time during which its consumers wait for samples, 0 to 1, before and after. Undefined
   * without prefetchers.
   */
  readonly stall: { readonly before: number; readonly after: number } | undefined;
  /** Whether the candidate takes bandwidth that the job has to keep; see `admission`. */
  readonly isStarvedByIt: boolean;
}

/** The effect of a candidate on all jobs of a source. */
export interface Admission {
  /** Whether no job would starve, and the candidate would have what it needs. */
  readonly fits: boolean;
  /** Whether the candidate would have what it needs. */
  readonly hasEnough: boolean;
  /** The capacity of the source for all of them. */
  readonly budget: Rate;
  /** The candidate first, then the others by name. */
  readonly effects: readonly Effect[];
}

/**
 * A loss of a twentieth is tolerated: the shares of several jobs add up to a little less than the capacity
 * anyway.
 */
const ENOUGH = 0.95;

/**
 * The part of its use that a job has to keep. One more job of the same weight halves the share of a job that
 * was alone.
 */
const LEAST_KEPT = 0.5;

const PARTS = ['bytes', 'operations'] as const;

/**
 * Predicts whether one more job would starve the others, or itself. Computes the shares of all jobs with it,
 * from the same records and by the same function that all stages use. The jobs' present reports say what they
 * want and use.
 *
 * - A job that has all that it wants has to keep that.
 * - A job that wants more than it has, or everything, takes what it gets, and any other job costs it
 * something. It has to keep half of what it uses now, and its guarantees.
 * - The candidate has to have what it needs.
 *
 * A job that would have over a twentieth less than that starves. The candidate fits if no job starves. If its
 * job is already present, the candidate is another stage of it, and the job needs its present use as well.
 */
export function admission({ stages, policy }: Seen, candidate: Candidate): Admission {
  const { job, source, wanted, needed = wanted } = candidate;
  const before = decide(stages, policy).sources.get(source)?.jobs ?? [];
  const shared = decide([...stages, stageOf(candidate)], policy).sources.get(source);
  invariant(shared !== undefined, 'the candidate reads from its source');
  const effects = shared.jobs.map((one) => {
    const now = before.find((other) => other.job === one.job)?.share;
    const effect = effectOf(one, now, stallOf(one.job, stages));
    return { ...effect, isStarvedByIt: isStarved(effect, one) };
  });
  const own = effects.filter((effect) => effect.job === job);
  const others = effects.filter((effect) => effect.job !== job);
  const hasEnough = own.every(({ after, used }) =>
    PARTS.every(
      (part) => after[part] >= ENOUGH * ((needed[part] === Infinity ? 0 : needed[part]) + used[part]),
    ),
  );
  return {
    fits: hasEnough && !effects.some((effect) => effect.isStarvedByIt),
    hasEnough,
    budget: shared.budget,
    effects: [...own, ...others.toSorted((a, b) => (a.job < b.job ? -1 : 1))],
  };
}

/** The record the candidate would put. No process has its id, and all other ids sort before it. */
function stageOf({ job, terms, source, wanted, budget }: Candidate): Stage {
  const report = {
    wanted: recordOf(wanted),
    used: NO_RATE,
    waits: 0,
    ...(budget && { budget: recordOf(budget) }),
  };
  return {
    id: '~candidate',
    v: 1,
    kind: 'stage',
    job,
    node: 'candidate',
    terms,
    sources: { [source]: report },
    tiers: {},
  };
}

function effectOf(
  { job, wanted, used, share: after }: JobDecision,
  before: Rate | undefined,
  stall: number | undefined,
): Omit<Effect, 'isStarvedByIt'> {
  // A job may have used more than its share a moment ago. It need not keep the excess.
  const kept = combined(Math.min, used, wanted, before ?? NO_BOUND);
  const slowdown = Math.max(1, ...PARTS.map((part) => (kept[part] === 0 ? 1 : kept[part] / after[part])));
  return {
    job,
    wanted,
    used,
    before,
    after,
    served: servedOf(after, wanted),
    slowdown,
    isSlowedByIt: slowdown * ENOUGH > 1,
    // Its consumers compute for as long as before.
    stall: stall === undefined ? undefined : { before: stall, after: 1 - (1 - stall) / slowdown },
  };
}

function isStarved(
  { before, after, wanted, slowdown, isSlowedByIt }: Omit<Effect, 'isStarvedByIt'>,
  { terms: { atLeast } }: JobDecision,
): boolean {
  if (before === undefined) return false;
  const isContent = PARTS.every((part) =>
    wanted[part] === Infinity ? after[part] === Infinity : before[part] >= ENOUGH * wanted[part],
  );
  if (isContent) return servedOf(after, wanted) < ENOUGH;
  const isBelow = PARTS.some((part) => after[part] < ENOUGH * Math.min(atLeast[part], wanted[part]));
  return slowdown * LEAST_KEPT * ENOUGH > 1 || (isBelow && isSlowedByIt);
}

/** The fraction of its wants that a job has. One that wants everything counts as served. */
function servedOf(share: Rate, wanted: Rate): number {
  const part = (of: keyof Rate) =>
    wanted[of] === 0 || wanted[of] === Infinity ? 1 : Math.min(1, share[of] / wanted[of]);
  return Math.min(part('bytes'), part('operations'));
}

/** The mean stall of the stages of a job. */
function stallOf(job: string, stages: readonly Stage[]): number | undefined {
  const stalls = stages.flatMap((stage) => (stage.job === job ? (stage.stall ?? []) : []));
  return stalls.length === 0 ? undefined : stalls.reduce((sum, stall) => sum + stall, 0) / stalls.length;
}
