import { observe, type Measurement, type Metric, type MetricsOptions } from './observe.js';

/** The observed part of the control plane. A `Control` of `@tiered/control` has it. */
export interface ObservedControl {
  /** Both functions are called whenever metrics are collected. */
  shares(): ControlShares;
  /** The last reports of all stages, and the decision based on them. */
  view(): ControlSeen;
}

/** The present shares of a stage. */
export interface ControlShares {
  readonly job: string;
  readonly id: string;
  /** By the name of the source. */
  readonly sources: Readonly<Record<string, ControlRate>>;
  /** By the location of the tier, in bytes. Only tiers that are shared out. */
  readonly tiers?: Readonly<Record<string, { readonly held: number; readonly share: number }>> | undefined;
  readonly isConnected: boolean;
}

/** Per second. `Infinity` without a limit. */
export interface ControlRate {
  readonly bytes: number;
  readonly operations: number;
}

/** The last reports of all stages, and the decision based on them. */
export interface ControlSeen {
  readonly seen: {
    readonly stages: readonly ControlStage[];
    readonly policy: { readonly revision: number } | undefined;
  };
  readonly decision: { readonly sources: ReadonlyMap<string, { readonly budget: ControlRate }> };
}

/** The report of a stage. */
export interface ControlStage {
  readonly id: string;
  readonly stall?: number | undefined;
  readonly sources: Readonly<
    Record<
      string,
      {
        readonly used: ControlRate;
        readonly wanted: { readonly bytes?: number | undefined };
        readonly waits: number;
      }
    >
  >;
}

/** The figures measured for a stage. */
interface ControlFigures {
  readonly shares: ControlShares;
  readonly stages: number;
  readonly revision: number;
  readonly own: ControlStage | undefined;
  readonly budgets: ControlSeen['decision']['sources'];
}

const SOURCE = 'tiered.control.source';
const TIER = 'tiered.control.tier';

/** A value for each source of this stage. A value without a limit is left out. */
function perSource(
  { shares }: ControlFigures,
  of: (source: string) => number | undefined,
): readonly Measurement[] {
  return Object.keys(shares.sources).flatMap((source) => {
    const value = of(source);
    return value === undefined || value === Infinity ? [] : [[value, { [SOURCE]: source }] as const];
  });
}

/** A value for each tier that this stage shares with other jobs. */
function perTier({ shares }: ControlFigures, of: 'held' | 'share'): readonly Measurement[] {
  return Object.entries(shares.tiers ?? {}).map(([tier, room]) => [room[of], { [TIER]: tier }]);
}

/** The metrics of a stage. None is per other stage, so each of 1,000 stages costs no more than one of two. */
export const CONTROL_METRICS: readonly Metric<ControlFigures>[] = [
  {
    name: 'tiered.control.connected',
    kind: 'gauge',
    unit: '1',
    description: 'Whether the registry could be reached when it was last tried: 1 or 0.',
    of: ({ shares }) => [[Number(shares.isConnected)]],
  },
  {
    name: 'tiered.control.stages',
    kind: 'gauge',
    unit: '{stage}',
    description: 'Stages of all jobs that are there, as this one knows it, with this one.',
    of: ({ stages }) => [[stages]],
  },
  {
    name: 'tiered.control.policy.revision',
    kind: 'gauge',
    unit: '{revision}',
    description: 'Counts what operators have set; 0 if they have set nothing.',
    of: ({ revision }) => [[revision]],
  },
  {
    name: 'tiered.control.budget',
    kind: 'gauge',
    unit: 'By/s',
    description: 'Bytes a second that a source gives to all jobs together, if that is known.',
    of: (figures) => perSource(figures, (source) => figures.budgets.get(source)?.budget.bytes),
  },
  {
    name: 'tiered.control.share',
    kind: 'sum',
    unit: 'By/s',
    description: 'Bytes a second that this stage may read from a source, if it is bounded.',
    of: (figures) => perSource(figures, (source) => figures.shares.sources[source]?.bytes),
  },
  {
    name: 'tiered.control.wanted',
    kind: 'sum',
    unit: 'By/s',
    description: 'Bytes a second that this stage could use of a source, unless it could use everything.',
    of: (figures) => perSource(figures, (source) => figures.own?.sources[source]?.wanted.bytes),
  },
  {
    name: 'tiered.control.used',
    kind: 'sum',
    unit: 'By/s',
    description: 'Bytes a second that this stage reads from a source.',
    of: (figures) => perSource(figures, (source) => figures.own?.sources[source]?.used.bytes),
  },
  {
    name: 'tiered.control.waits',
    kind: 'gauge',
    unit: '1',
    description: 'The part of the time in which requests of this stage wait for its share, 0 to 1.',
    of: (figures) => perSource(figures, (source) => figures.own?.sources[source]?.waits),
  },
  {
    name: 'tiered.control.tier.held',
    kind: 'sum',
    unit: 'By',
    description: 'Bytes of copies that this stage has placed on a tier that jobs share.',
    of: (figures) => perTier(figures, 'held'),
  },
  {
    name: 'tiered.control.tier.share',
    kind: 'sum',
    unit: 'By',
    description: 'Bytes that this stage may hold of a tier that jobs share.',
    of: (figures) => perTier(figures, 'share'),
  },
  {
    name: 'tiered.control.stall',
    kind: 'gauge',
    unit: '1',
    description: 'The part of the time in which consumers of this stage wait for samples, 0 to 1.',
    of: ({ own }) => (own?.stall === undefined ? [] : [[own.stall]]),
  },
];

/**
 * Creates metrics of the reports and shares of a stage of the control plane, which are taken when metrics are
 * collected. All have the attribute `tiered.control.job`, and those of a source `tiered.control.source`.
 *
 * Several stages of one job need an attribute that tells them apart, such as the rank of a worker, unless
 * something else does. Rates of stages add up to those of the job.
 * @param control Kept in memory until the metrics end.
 * @returns A function that ends the metrics.
 */
export function observeControl(control: ObservedControl, options: MetricsOptions = {}): () => void {
  const { attributes, meterProvider } = options;
  const { job } = control.shares();
  return observe(CONTROL_METRICS, () => figuresOf(control), {
    meterProvider,
    attributes: { ...attributes, 'tiered.control.job': job },
  });
}

function figuresOf(control: ObservedControl): ControlFigures {
  const shares = control.shares();
  const { seen, decision } = control.view();
  return {
    shares,
    stages: seen.stages.length,
    revision: seen.policy?.revision ?? 0,
    own: seen.stages.find(({ id }) => id === shares.id),
    budgets: decision.sources,
  };
}
