import { invariant } from '@tiered/core/internal';
import { combined, NO_BOUND, NO_RATE, type Rate } from './rate.js';
import { decide, type JobDecision } from './decide.js';
import { recordOf } from './terms.js';
import type { Seen } from '../records/board.js';
import type { Stage, TermsRecord } from '../records/stage-record.js';

/** A job that may come. */
export interface Candidate {
  readonly job: string;
  readonly terms: TermsRecord;
  /** The source that it would read, by name. */
  readonly source: string;
  /** What it could use of it. `Infinity` for everything. */
  readonly wanted: Rate;
  /**
   * What it has to have of it. Default: `wanted`. A part that is `Infinity` is no need: it takes what it
   * gets.
   */
  readonly needed?: Rate | undefined;
  /** What it says that the source gives. Default: it says nothing. */
  readonly budget?: Rate | undefined;
}

/** What would become of one job. */
export interface Effect {
  readonly job: string;
  readonly wanted: Rate;
  /** What it uses now. Nothing if it is not there yet. */
  readonly used: Rate;
  /** What it has now. Undefined if it is not there yet. */
  readonly before: Rate | undefined;
  readonly after: Rate;
  /** The part of what it wants that it would have, 0 to 1. Of everything, it is 1. */
  readonly served: number;
  /**
   * How many times as long it would take to read what it reads now. 1 if it keeps what it uses, and if it is
   * not there yet.
   */
  readonly slowdown: number;
  /** Whether that is more than a twentieth longer. */
  readonly isSlowedByIt: boolean;
  /**
   * Part of the time in which its consumers wait for samples, 0 to 1: now, and then. Undefined where nothing
   * prefetches.
   */
  readonly stall: { readonly before: number; readonly after: number } | undefined;
  /** Whether the candidate takes from it what it has to keep, see `admission`. */
  readonly isStarvedByIt: boolean;
}

/** What would become of all jobs of a source if another one came. */
export interface Admission {
  /** Whether no job would starve, and the candidate would have what it needs. */
  readonly fits: boolean;
  /** Whether the candidate would have what it needs. */
  readonly hasEnough: boolean;
  /** What the source gives to all of them. */
  readonly budget: Rate;
  /** The candidate first, then the others by name. */
  readonly effects: readonly Effect[];
}

/** A twentieth less is no loss: shares of several jobs come to a little less than a source gives, anyway. */
const ENOUGH = 0.95;

/** One more job of the same weight halves what a job has that was alone. With less it starves. */
const LEAST_KEPT = 0.5;

const PARTS = ['bytes', 'operations'] as const;

/**
 * Finds out whether one more job would starve the others, or itself: the shares of all with it, from the same
 * records and by the same function that all stages go by. What jobs want and use is what they say now.
 *
 * - A job that has all that it wants has to keep that.
 * - A job that wants more than it has, or everything, takes what it gets, and any other job costs it
 * something. It has to keep half of what it uses now, and what is guaranteed to it.
 * - The candidate has to have what it needs.
 *
 * A job that would have more than a twentieth less than that starves. The candidate fits if none does. If its
 * job is there already, it is another stage of that, and the job needs what it uses now as well.
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

/** What the candidate would say of itself. No process has its id, and all others come before it. */
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
  // A job may have used more than its share a moment ago. That is not for it to keep.
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
    // Its consumers compute as long as before.
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

/** A job that wants everything is never satisfied; it counts as served by what it has. */
function servedOf(share: Rate, wanted: Rate): number {
  const part = (of: keyof Rate) =>
    wanted[of] === 0 || wanted[of] === Infinity ? 1 : Math.min(1, share[of] / wanted[of]);
  return Math.min(part('bytes'), part('operations'));
}

/** The mean of the stages of a job. */
function stallOf(job: string, stages: readonly Stage[]): number | undefined {
  const stalls = stages.flatMap((stage) => (stage.job === job ? (stage.stall ?? []) : []));
  return stalls.length === 0 ? undefined : stalls.reduce((sum, stall) => sum + stall, 0) / stalls.length;
}
