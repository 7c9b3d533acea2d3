import {
  decide,
  type BudgetOrigin,
  type JobDecision,
  type Rate,
  type Seen,
  type Stage,
  type TierDecision,
} from '@tiered/control';
import { grouped, own } from '@tiered/core/internal';

/** What may pass in a second, as JSON has it: a part that is null has no bound. */
export interface RateView {
  readonly bytes: number | null;
  readonly operations: number | null;
}

/** A job at one source. */
export interface JobAtSource {
  readonly job: string;
  readonly weight: number;
  readonly priority: number;
  readonly atLeast: RateView;
  readonly atMost: RateView;
  readonly wanted: RateView;
  /** What it gets of what it wants. */
  readonly share: RateView;
  readonly used: RateView;
  /** Part of the time in which its requests wait for the share, 0 to 1; the mean of its stages. */
  readonly waits: number;
  /** Part of the time in which its consumers wait for samples, 0 to 1. Null where nothing prefetches. */
  readonly stall: number | null;
  readonly stages: number;
}

/** A source, and the jobs that read from it. */
export interface SourceView {
  readonly source: string;
  readonly budget: RateView;
  readonly budgetFrom: BudgetOrigin;
  /** What of the budget is shared out: between several jobs a little less than all. */
  readonly sharedOut: RateView;
  readonly jobs: readonly JobAtSource[];
}

/** What stages use of their machine together, and the most that they may use. Null where nobody says it. */
export interface NodeView {
  readonly node: string;
  readonly stages: number;
  readonly memoryBytes: { readonly used: number; readonly most: number | null };
  readonly producers: { readonly used: number; readonly most: number | null };
}

/** A tier that several jobs of a machine fill, and what each has of it, in bytes. */
export interface TierView {
  readonly node: string;
  /** Where it is. */
  readonly place: string;
  readonly quotaBytes: number;
  readonly jobs: readonly JobAtTierView[];
}

/** A job at a tier, in bytes. */
interface JobAtTierView {
  readonly job: string;
  readonly weight: number;
  /** What it holds and the rest of its dataset. Null if it does not know that. */
  readonly wanted: number | null;
  /** Copies that it has placed. */
  readonly held: number;
  /** The most that it may hold. */
  readonly share: number;
}

/** All jobs, sources and nodes at one moment, as JSON has it. Ordered by name. */
export interface ControlView {
  /** Counts what operators have set; 0 if they have set nothing. */
  readonly revision: number;
  readonly setBy: string | null;
  readonly sources: readonly SourceView[];
  readonly nodes: readonly NodeView[];
  /** Tiers that several jobs of a machine fill. */
  readonly tiers: readonly TierView[];
  /** Jobs that read from no source yet. */
  readonly idle: readonly string[];
}

/** Decides what all get, and says it for people and for JSON. A pure function. */
export function viewOf({ stages, policy }: Seen): ControlView {
  const { sources, tiers } = decide(stages, policy);
  const [ofJobs, ofNodes] = [grouped(stages, ({ job }) => job), grouped(stages, ({ node }) => node)];
  const reading = new Set([...sources.values()].flatMap(({ jobs }) => jobs.map(({ job }) => job)));
  return {
    revision: policy?.revision ?? 0,
    setBy: policy?.by ?? null,
    sources: [...sources.values()]
      .map(({ source, budget, budgetFrom, sharedOut, jobs }) => ({
        source,
        budget: rateView(budget),
        budgetFrom,
        sharedOut: rateView(sharedOut),
        jobs: jobs
          .map((one) => jobView(one, source, ofJobs.get(one.job) ?? []))
          .sort(byName(({ job }) => job)),
      }))
      .sort(byName(({ source }) => source)),
    nodes: [...ofNodes]
      .map(([node, here]) => nodeView(node, { stages: here, policy }))
      .sort(byName(({ node }) => node)),
    tiers: tiers.map(tierView).sort(byName(({ node, place }) => `${node} ${place}`)),
    idle: [...ofJobs.keys()].filter((job) => !reading.has(job)).sort(),
  };
}

function jobView(decision: JobDecision, source: string, ofJob: readonly Stage[]): JobAtSource {
  const { job, terms, wanted, share, used } = decision;
  const stages = ofJob.filter((stage) => own(stage.sources, source) !== undefined);
  return {
    job,
    weight: terms.weight,
    priority: terms.priority,
    atLeast: rateView(terms.atLeast),
    atMost: rateView(terms.atMost),
    wanted: rateView(wanted),
    share: rateView(share),
    used: rateView(used),
    waits: mean(stages.map((stage) => own(stage.sources, source)?.waits ?? 0)) ?? 0,
    stall: mean(stages.flatMap(({ stall }) => stall ?? [])),
    stages: stages.length,
  };
}

function nodeView(node: string, { stages, policy }: Seen): NodeView {
  const set = own(policy?.nodes, node) ?? own(policy?.nodes, '*');
  const used = (of: 'memory' | 'producers') => stages.reduce((sum, stage) => sum + (stage[of]?.used ?? 0), 0);
  return {
    node,
    stages: stages.length,
    memoryBytes: { used: used('memory'), most: set?.memory ?? null },
    producers: { used: used('producers'), most: set?.producers ?? null },
  };
}

function tierView({ node, place, quotaBytes, jobs }: TierDecision): TierView {
  const views = jobs.map(({ job, weight, wanted, held, share }) => ({
    job,
    weight,
    wanted: bounded(wanted),
    held,
    share: Math.floor(share),
  }));
  return { node, place, quotaBytes, jobs: views.sort(byName(({ job }) => job)) };
}

function rateView({ bytes, operations }: Rate): RateView {
  return { bytes: bounded(bytes), operations: bounded(operations) };
}

const bounded = (amount: number) => (amount === Infinity ? null : amount);

const byName =
  <T>(nameOf: (item: T) => string) =>
  (a: T, b: T): number =>
    nameOf(a) < nameOf(b) ? -1 : 1;

function mean(parts: readonly number[]): number | null {
  return parts.length === 0 ? null : parts.reduce((sum, part) => sum + part, 0) / parts.length;
}
