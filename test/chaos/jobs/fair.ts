import { maxMin, type Decision, type JobDecision, type PolicyRecord } from '@tiered/control';
import { own } from '@tiered/core/internal';
import { Finding } from '../simulated/finding.js';
import { BUDGET } from './source.js';
import { jobOf, SOURCE, type Stage } from './stage.js';
import type { JobTerms } from './steps.js';

/** The part of the source that is shared out between several jobs. */
const SHARED_OUT = 0.985;
/** The part of it that all jobs have by weight, whatever the priorities. */
const NEVER_LESS = 0.01;
/** Bytes in a second that are none: shares are sums of many parts. */
const NOTHING = 1e-3;

/** Shares are by weighted max-min, whatever anybody says that it wants [U2]. */
export function assertFair({ sources }: Decision): void {
  const { budget, jobs = [] } = sources.get(SOURCE) ?? {};
  if (budget === undefined || jobs.length === 0) return;
  const whole = wholeOf(budget.bytes, jobs.length);
  const sum = jobs.reduce((bytes, { share }) => bytes + share.bytes, 0);
  if (sum > whole + NOTHING) throw new Finding('unfair', `${sum} of ${whole} are shared out`);
  const weights = jobs.reduce((all, { terms }) => all + terms.weight, 0);
  const least = ({ terms }: JobDecision) => (whole * NEVER_LESS * terms.weight) / weights;
  const level = ({ share, terms }: JobDecision) => share.bytes / terms.weight;
  for (const job of jobs.filter(({ share, wanted }) => share.bytes < wanted.bytes - NOTHING)) {
    if (sum < whole - NOTHING)
      throw new Finding('unfair', `${job.job} wants more, and ${whole - sum} are left`);
    const { priority } = job.terms;
    const richer = jobs.find(
      (other) =>
        other.share.bytes > least(other) + NOTHING &&
        (other.terms.priority < priority ||
          (other.terms.priority === priority && level(other) > level(job) + NOTHING)),
    );
    if (richer !== undefined)
      throw new Finding(
        'unfair',
        `${richer.job} has ${level(richer)} a weight, and ${job.job} ${level(job)}`,
      );
  }
}

function wholeOf(budget: number, jobs: number): number {
  return jobs > 1 ? SHARED_OUT * budget : budget;
}

/** A stage, and what it could use in a second. */
export interface Wanting {
  readonly stage: Stage;
  readonly wanted: number;
}

/** What each stage has to have in a second, in their order. */
export function fairShares(
  all: readonly Wanting[],
  terms: readonly JobTerms[],
  policy: PolicyRecord | undefined,
): number[] {
  const jobs = [...new Set(all.map(({ stage }) => stage.options.job))];
  const whole = wholeOf(own(policy?.sources, SOURCE)?.bytes ?? BUDGET, jobs.length);
  const claims = jobs.map((job) => {
    const { weight = 1, priority = 0 } = { ...terms[job], ...own(policy?.jobs, jobOf(job)) };
    const wanted = all
      .filter(({ stage }) => stage.options.job === job)
      .reduce((sum, one) => sum + one.wanted, 0);
    return { weight, priority, wanted, atLeast: 0, atMost: Infinity };
  });
  const weights = claims.reduce((sum, { weight }) => sum + weight, 0);
  const shares = maxMin(
    whole,
    claims.map((claim) => ({ ...claim, atLeast: (whole * NEVER_LESS * claim.weight) / weights })),
  );
  const ofStages = new Map<Stage, number>();
  for (const [at, job] of jobs.entries()) {
    const stages = all.filter(({ stage }) => stage.options.job === job);
    const parts = maxMin(
      shares[at] ?? 0,
      stages.map(({ wanted }) => ({ weight: 1, priority: 0, wanted, atLeast: 0, atMost: Infinity })),
    );
    for (const [i, { stage }] of stages.entries()) ofStages.set(stage, parts[i] ?? 0);
  }
  return all.map(({ stage }) => ofStages.get(stage) ?? 0);
}
