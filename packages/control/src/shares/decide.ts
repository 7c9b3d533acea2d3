import { grouped, own } from '@tiered/core/internal';
import type { PolicyRecord, SourceReport, Stage } from '../records/stage-record.js';
import { shareNodes, type NodeShare } from './node-shares.js';
import { combined, NO_BOUND, sumOf, type Rate } from './rate.js';
import { sharesOfSource, type JobClaim, type JobShare } from './source-shares.js';
import { rateOf, termsOf, type Terms } from './terms.js';
import { shareTiers, type TierDecision } from './tier-shares.js';

/** Where the budget of a source comes from: an operator, the options of a stage, or what was measured. */
export type BudgetOrigin = 'policy' | 'options' | 'measured' | 'none';

/** The shares of one source. */
export interface SourceDecision {
  readonly source: string;
  /** The capacity of the source. */
  readonly budget: Rate;
  readonly budgetFrom: BudgetOrigin;
  /** The part of the budget that is shared out: a little less, if several jobs read from the source. */
  readonly sharedOut: Rate;
  readonly jobs: readonly JobDecision[];
}

/** One job's share of a source, and its reports. */
export interface JobDecision extends JobShare {
  readonly terms: Terms;
  readonly wanted: Rate;
  readonly used: Rate;
}

/** The shares of all stages. */
export interface Decision {
  /** By the name of the source. */
  readonly sources: ReadonlyMap<string, SourceDecision>;
  /** By stage. */
  readonly nodes: ReadonlyMap<string, NodeShare>;
  /** The tiers that several jobs of a node fill. */
  readonly tiers: readonly TierDecision[];
}

/**
 * Decides the share of each stage. It is a pure function of the records, so all stages reach the same result
 * without further messages.
 * @param stages In any order.
 * @param policy The policy that operators have set; undefined if there is none.
 */
export function decide(stages: readonly Stage[], policy: PolicyRecord | undefined): Decision {
  // Sorted by id, so that the order of the records does not matter.
  const inOrder = stages.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const sources = new Set(inOrder.flatMap((stage) => Object.keys(stage.sources)));
  return {
    sources: new Map([...sources].map((source) => [source, decideSource(source, inOrder, policy)])),
    nodes: shareNodes(inOrder, policy),
    tiers: shareTiers(inOrder, policy),
  };
}

/**
 * The share of a source that a stage can count on: the share it would get if all jobs wanted everything.
 * @param stages All known stages, including this one.
 */
export function guaranteedOf(
  id: string,
  source: string,
  stages: readonly Stage[],
  policy: PolicyRecord | undefined,
): Rate {
  const greedy = stages.map((stage) => ({ ...stage, sources: wantAll(stage.sources) }));
  return shareOf(decide(greedy, policy), id, source);
}

/** The share of a source that a stage gets. */
export function shareOf(decision: Decision, id: string, source: string): Rate {
  for (const { stages } of decision.sources.get(source)?.jobs ?? []) {
    const share = stages.get(id);
    if (share !== undefined) return share;
  }
  return NO_BOUND;
}

/** The fraction of a budget from which requests to a source may wait for each other. */
const SATURATED = 0.97;

/** Whether the stages together use about the full capacity of a source. */
export function isSaturated(decision: Decision, source: string): boolean {
  const { budget = NO_BOUND, jobs = [] } = decision.sources.get(source) ?? {};
  const used = sumOf(jobs.map((job) => job.used));
  return used.bytes >= SATURATED * budget.bytes || used.operations >= SATURATED * budget.operations;
}

function wantAll(sources: Stage['sources']): Stage['sources'] {
  return Object.fromEntries(
    Object.entries(sources).map(([name, report]) => [name, { ...report, wanted: {} }]),
  );
}

interface Reader {
  readonly stage: Stage;
  readonly report: SourceReport;
}

function decideSource(
  source: string,
  stages: readonly Stage[],
  policy: PolicyRecord | undefined,
): SourceDecision {
  const readers = stages.flatMap((stage) => {
    const report = own(stage.sources, source);
    return report === undefined ? [] : [{ stage, report }];
  });
  const { budget, budgetFrom } = budgetOf(source, readers, policy);
  const byJob = grouped(readers, ({ stage }) => stage.job);
  const claims = [...byJob].map(([job, ofJob]) => claimOf(job, ofJob, policy));
  const sharedOut = claims.length > 1 ? sharedOutOf(budget) : budget;
  const jobs = sharesOfSource(sharedOut, claims).map((share, at) => ({
    ...share,
    terms: claims[at]?.terms ?? termsOf({}, {}),
    wanted: sumOf((claims[at]?.stages ?? []).map(({ wanted }) => wanted)),
    used: sumOf((byJob.get(share.job) ?? []).map(({ report }) => report.used)),
  }));
  return { source, budget, budgetFrom, sharedOut, jobs };
}

/**
 * The part of a budget that is shared out between several jobs. With all of it, a queue that once built up in
 * the source would stay for ever, and jobs with few requests at a time would get less.
 */
const SHARED_OUT = 0.985;

function sharedOutOf({ bytes, operations }: Rate): Rate {
  return { bytes: bytes * SHARED_OUT, operations: operations * SHARED_OUT };
}

function claimOf(job: string, readers: readonly Reader[], policy: PolicyRecord | undefined): JobClaim {
  return {
    job,
    terms: inTime(termsOf(readers[0]?.stage.terms ?? {}, own(policy?.jobs, job) ?? {}), readers),
    stages: readers.map(({ stage, report: { wanted, used } }) => ({
      stage: stage.id,
      wanted: rateOf(wanted),
      operationBytes: used.operations > 0 ? used.bytes / used.operations : undefined,
    })),
  };
}

/** Adds the rate that a job needs to finish in time to its guarantees. */
function inTime(terms: Terms, readers: readonly Reader[]): Terms {
  const needs = readers.reduce((sum, { stage }) => sum + (stage.needs ?? 0), 0);
  const { atLeast } = terms;
  return needs <= atLeast.bytes ? terms : { ...terms, atLeast: { ...atLeast, bytes: needs } };
}

function budgetOf(
  source: string,
  readers: readonly Reader[],
  policy: PolicyRecord | undefined,
): Pick<SourceDecision, 'budget' | 'budgetFrom'> {
  const set = own(policy?.sources, source);
  if (set !== undefined) return { budget: rateOf(set), budgetFrom: 'policy' };
  const given = readers.flatMap(({ report }) => (report.budget === undefined ? [] : [rateOf(report.budget)]));
  if (given.length > 0) return { budget: combined(Math.min, ...given), budgetFrom: 'options' };
  const measured = readers.flatMap(({ report }) => report.measured ?? []).toSorted((a, b) => a - b);
  // The median, so that no single stage decides.
  const bytes = measured[Math.floor(measured.length / 2)];
  const areSeveral = readers.some(({ stage }) => stage.job !== readers[0]?.stage.job);
  if (bytes === undefined || !areSeveral) return { budget: NO_BOUND, budgetFrom: 'none' };
  return { budget: { bytes, operations: Infinity }, budgetFrom: 'measured' };
}
