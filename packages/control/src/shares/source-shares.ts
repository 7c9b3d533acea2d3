import { maxMin, PLAIN_CLAIM, portions, total, type BoundBy, type Claim, type Portion } from './max-min.js';
import { combined, type Rate } from './rate.js';
import type { Terms } from './terms.js';

/** A job that reads from a source, and its stages. */
export interface JobClaim {
  readonly job: string;
  readonly terms: Terms;
  readonly stages: readonly StageClaim[];
}

/** The rate that one of its stages could use. */
interface StageClaim {
  readonly stage: string;
  readonly wanted: Rate;
  /** Average bytes of one of its operations. Undefined if unknown. */
  readonly operationBytes: number | undefined;
}

/**
 * The reason why a job has no more of one part of a rate: the reason of its claim, or that it can use no more
 * with its share of the other part (`otherPart`).
 */
export type JobBoundBy = BoundBy | 'otherPart';

/** The share of a job. */
export interface JobShare {
  readonly job: string;
  /** Its share of the wanted rates. */
  readonly share: Rate;
  /** The reason why the share is not larger. */
  readonly boundBy: Readonly<Record<keyof Rate, JobBoundBy>>;
  /**
   * By stage, its part of the share and of the unwanted rest, so that a stage need not ask before it uses
   * more.
   */
  readonly stages: ReadonlyMap<string, Rate>;
}

type Part = keyof Rate;

/**
 * Shares out the bytes and the operations of a source among jobs by weighted max-min. A job's share is
 * divided among its stages in the same way, with equal weights. A job that can use few operations needs fewer
 * bytes, and the reverse; the rest goes to the others.
 */
export function sharesOfSource(budget: Rate, jobs: readonly JobClaim[]): JobShare[] {
  const least = { bytes: leastOf(budget, jobs, 'bytes'), operations: leastOf(budget, jobs, 'operations') };
  const shareOut = (fitting: readonly JobClaim[], part: Part): JobPortion[] => {
    const claims = fitting.map((job, at) => claimOf(job, part, least[part][at]));
    return portions(budget[part], claims).map(({ amount, boundBy }, at) => {
      const isCut = (claims[at]?.wanted ?? 0) < wantedOf(jobs[at]?.stages ?? [], part);
      return { amount, boundBy: boundBy === 'wanted' && isCut ? 'otherPart' : boundBy };
    });
  };
  const few = shareOut(jobs, 'operations');
  const fitting = jobs.map((job, at) => withinPart(job, few[at]?.amount ?? 0, 'operations'));
  const bytes = shareOut(fitting, 'bytes');
  const fittingBoth = fitting.map((job, at) => withinPart(job, bytes[at]?.amount ?? 0, 'bytes'));
  const operations = shareOut(fittingBoth, 'operations');
  const shares = {
    bytes: bytes.map(({ amount }) => amount),
    operations: operations.map(({ amount }) => amount),
  };
  const all = {
    bytes: withRest(budget, jobs, shares.bytes, 'bytes'),
    operations: withRest(budget, jobs, shares.operations, 'operations'),
  };
  return jobs.map((job, at) => ({
    job: job.job,
    share: rateAt(shares, at),
    boundBy: {
      bytes: bytes[at]?.boundBy ?? 'wanted',
      operations: operations[at]?.boundBy ?? 'wanted',
    },
    stages: stagesOf(job, rateAt(all, at), rateAt(least, at)),
  }));
}

/** A part of a job's share. */
interface JobPortion extends Omit<Portion, 'boundBy'> {
  readonly boundBy: JobBoundBy;
}

/** One of several rates whose parts are in lists. */
function rateAt({ bytes, operations }: Readonly<Record<Part, readonly number[]>>, at: number): Rate {
  return { bytes: bytes[at] ?? 0, operations: operations[at] ?? 0 };
}

/** The part of a source that all jobs share by weight regardless of priorities, so that none starves. */
const NEVER_LESS = 0.01;

/**
 * The minimum of each job. A stage that wanted nothing may read the next moment, when others use up its
 * share. So it is allowed this minimum, although the total then exceeds the budget by a hundredth.
 */
function leastOf(budget: Rate, jobs: readonly JobClaim[], part: Part): number[] {
  const whole = budget[part];
  if (whole === Infinity) return jobs.map(() => 0);
  const weights = total(jobs.map(({ terms }) => terms.weight));
  return jobs.map(({ terms }) => Math.min(terms.atMost[part], (whole * NEVER_LESS * terms.weight) / weights));
}

/** @param least The job's minimum. */
function claimOf({ terms, stages }: JobClaim, part: Part, least = 0): Claim {
  return {
    weight: terms.weight,
    priority: terms.priority,
    wanted: wantedOf(stages, part),
    atLeast: Math.max(terms.atLeast[part], least),
    atMost: terms.atMost[part],
  };
}

function wantedOf(stages: readonly StageClaim[], part: Part): number {
  return total(stages.map(({ wanted }) => wanted[part]));
}

/** Shares out the unwanted rest by weight, so that a job that wants more a moment later already has it. */
function withRest(budget: Rate, jobs: readonly JobClaim[], shares: readonly number[], part: Part): number[] {
  const whole = budget[part];
  if (whole === Infinity) return jobs.map(({ terms }) => terms.atMost[part]);
  const left = whole - total(shares);
  if (left <= 0) return [...shares];
  const claims = jobs.map(({ terms }, at) => {
    return {
      ...PLAIN_CLAIM,
      weight: terms.weight,
      wanted: Math.max(0, terms.atMost[part] - (shares[at] ?? 0)),
    };
  });
  const rest = maxMin(left, claims);
  return shares.map((share, at) => share + (rest[at] ?? 0));
}

/** Limits a job's claim to what it can use with its share of the other part of the rate. */
function withinPart(job: JobClaim, share: number, part: Part): JobClaim {
  if (share >= wantedOf(job.stages, part)) return job;
  const among = job.stages.filter((stage) => stage.wanted[part] > 0).length;
  return { ...job, stages: job.stages.map((stage) => withinShare(stage, share, part, among)) };
}

function withinShare(stage: StageClaim, share: number, part: Part, among: number): StageClaim {
  const { operationBytes = 0, wanted } = stage;
  if (!(operationBytes > 0)) return stage;
  // The part of a stage if all want the same. It is more if others want less.
  const most = share / Math.max(1, among);
  const bound =
    part === 'operations'
      ? { bytes: most * operationBytes, operations: Infinity }
      : { bytes: Infinity, operations: most / operationBytes };
  return { ...stage, wanted: combined(Math.min, wanted, bound) };
}

function stagesOf({ stages }: JobClaim, share: Rate, least: Rate): Map<string, Rate> {
  const all = {
    bytes: evenly(stages, share, least, 'bytes'),
    operations: evenly(stages, share, least, 'operations'),
  };
  return new Map(stages.map(({ stage }, at) => [stage, rateAt(all, at)]));
}

function evenly(stages: readonly StageClaim[], share: Rate, least: Rate, part: Part): number[] {
  if (share[part] === Infinity) return stages.map(() => Infinity);
  const amounts = maxMin(
    share[part],
    stages.map(({ wanted }) => ({ ...PLAIN_CLAIM, wanted: wanted[part] })),
  );
  const rest = Math.max(0, share[part] - total(amounts));
  return amounts.map((amount) => Math.max(amount + rest / stages.length, least[part] / stages.length));
}
