import { grouped, own } from '@tiered/core/internal';
import type { PolicyRecord, SourceReport, Stage } from '../records/stage-record.js';
import { shareNodes, type NodeShare } from './node-shares.js';
import { combined, NO_BOUND, sumOf, type Rate } from './rate.js';
import { sharesOfSource, type JobClaim, type JobShare } from './source-shares.js';
import { rateOf, termsOf, type Terms } from './terms.js';
import { shareTiers, type TierDecision } from './tier-shares.js';

/** Where the budget of a source comes from: an operator, the options of a stage, or what was measured. */
export type BudgetOrigin = 'policy' | 'options' | 'measured' | 'none';

/** How one source is shared out. */
export interface SourceDecision {
  readonly source: string;
  /** What it gives. */
  readonly budget: Rate;
  readonly budgetFrom: BudgetOrigin;
  /** What is shared out of that: a little less, if several jobs read from it. */
  readonly sharedOut: Rate;
  readonly jobs: readonly JobDecision[];
}

/** What one job gets of a source, and what it said. */
export interface JobDecision extends JobShare {
  readonly terms: Terms;
  readonly wanted: Rate;
  readonly used: Rate;
}

/** What all stages get. */
export interface Decision {
  /** By the name of the source. */
  readonly sources: ReadonlyMap<string, SourceDecision>;
  /** By stage. */
  readonly nodes: ReadonlyMap<string, NodeShare>;
  /** Those that several jobs of a node fill. */
  readonly tiers: readonly TierDecision[];
}

/**
 * Decides what each stage gets. A pure function of the records, so that all stages come to the same, and no
 * message says who is right.
 * @param stages In any order.
 * @param policy What operators have set. Undefined if they have set nothing.
 */
export function decide(stages: readonly Stage[], policy: PolicyRecord | undefined): Decision {
  // Names decide what the order of the records would.
  const inOrder = stages.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const sources = new Set(inOrder.flatMap((stage) => Object.keys(stage.sources)));
  return {
    sources: new Map([...sources].map((source) => [source, decideSource(source, inOrder, policy)])),
    nodes: shareNodes(inOrder, policy),
    tiers: shareTiers(inOrder, policy),
  };
}

/**
 * What a stage would get of a source if all jobs wanted all of it: what it can count on.
 * @param stages All that are known, the stage among them.
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

/** What a stage gets of a source. */
export function shareOf(decision: Decision, id: string, source: string): Rate {
  for (const { stages } of decision.sources.get(source)?.jobs ?? []) {
    const share = stages.get(id);
    if (share !== undefined) return share;
  }
  return NO_BOUND;
}

/** From this part of a budget on, requests of a source may wait for each other. */
const SATURATED = 0.97;

/** Whether the stages together use about all that a source gives. */
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
 * The part of a budget that is shared out between several jobs. With all of it, requests that have once come
 * to wait for each other in the source would do so for ever, and who makes few at a time would have less.
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

/** What a job needs to end in time is guaranteed to it. */
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
  // The one in the middle, so that no single stage decides.
  const bytes = measured[Math.floor(measured.length / 2)];
  const areSeveral = readers.some(({ stage }) => stage.job !== readers[0]?.stage.job);
  if (bytes === undefined || !areSeveral) return { budget: NO_BOUND, budgetFrom: 'none' };
  return { budget: { bytes, operations: Infinity }, budgetFrom: 'measured' };
}
