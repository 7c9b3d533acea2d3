import fc from 'fast-check';
import { registryStep, seed } from '../steps.js';

/** How a stage of a job is begun. */
export interface StageStart {
  readonly do: 'start';
  readonly who: number;
  /** Which of the jobs of the schedule. */
  readonly job: number;
  /**
   * `greedy`: reads as fast as it may. `trains`: computes for each object, and has prefetchers. `lies`: says
   * that it uses and wants everything, and reads nothing.
   */
  readonly kind: 'greedy' | 'trains' | 'lies';
  /** Requests at a time. */
  readonly requests: number;
  /** Milliseconds for an object, of one that trains. */
  readonly computeMs: number;
  /** Milliseconds by which the clock of its machine differs. */
  readonly offsetMs: number;
  readonly seed: number;
}

/** What an operator sets. */
export type Setting =
  | { readonly of: 'job'; readonly job: number; readonly weight: number; readonly priority: number }
  /** The part of what the source can give. */
  | { readonly of: 'source'; readonly part: number };

/** What happens next. What makes no sense at that moment does nothing. */
export type JobStep =
  | StageStart
  | { readonly do: 'wait'; readonly ms: number }
  /** The faults end, and all is as promised after a while. */
  | { readonly do: 'settle' }
  | { readonly do: 'kill' | 'stop' | 'resume' | 'close'; readonly who: number }
  | { readonly do: 'registry'; readonly state: 'there' | 'lost' | 'mute' | 'forget' }
  | { readonly do: 'set'; readonly operator: number; readonly setting: Setting }
  /** The source gives this part of what it can. */
  | { readonly do: 'source'; readonly speed: number }
  /** Somebody puts records that are none. */
  | { readonly do: 'nonsense' };

/** How a job asks to be treated. */
export interface JobTerms {
  readonly weight: number;
  readonly priority: number;
}

/** A schedule of jobs. */
export interface JobSchedule {
  readonly seed: number;
  readonly jobs: readonly JobTerms[];
  readonly steps: readonly JobStep[];
}

/** Processes, each of which is a stage of some job. */
const STAGES = 5;
const JOBS = 4;
export const OPERATORS = 2;

const who = fc.nat(STAGES - 1);
const weight = fc.constantFrom(1, 1, 2, 4);
const priority = fc.constantFrom(0, 0, 0, 0, 1, -1);
const terms: fc.Arbitrary<JobTerms> = fc.record({ weight, priority });

const start: fc.Arbitrary<StageStart> = fc.record({
  do: fc.constant('start' as const),
  who,
  job: fc.nat(JOBS - 1),
  kind: fc.constantFrom('greedy' as const, 'greedy' as const, 'trains' as const, 'lies' as const),
  requests: fc.constantFrom(4, 8, 16),
  computeMs: fc.constantFrom(20, 50),
  offsetMs: fc.integer({ min: -600_000, max: 600_000 }),
  seed,
});

const setting: fc.Arbitrary<Setting> = fc.oneof(
  fc.record({ of: fc.constant('job' as const), job: fc.nat(JOBS - 1), weight, priority }),
  fc.record({ of: fc.constant('source' as const), part: fc.constantFrom(0.5, 0.8, 1) }),
);

const step: fc.Arbitrary<JobStep> = fc.oneof(
  { arbitrary: start, weight: 5 },
  {
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.oneof(fc.nat(2000), fc.constantFrom(3000, 12_000)),
    }),
    weight: 5,
  },
  { arbitrary: fc.record({ do: fc.constant('settle' as const) }), weight: 1 },
  {
    arbitrary: fc.record({
      do: fc.constantFrom('kill' as const, 'stop' as const, 'resume' as const, 'close' as const),
      who,
    }),
    weight: 5,
  },
  {
    arbitrary: registryStep,
    weight: 4,
  },
  {
    arbitrary: fc.record({ do: fc.constant('set' as const), operator: fc.nat(OPERATORS - 1), setting }),
    weight: 2,
  },
  {
    arbitrary: fc.record({ do: fc.constant('source' as const), speed: fc.constantFrom(0.1, 0.5, 1) }),
    weight: 1,
  },
  { arbitrary: fc.record({ do: fc.constant('nonsense' as const) }), weight: 1 },
);

/** Any schedule; two stages run from the beginning. */
export const jobSchedules: fc.Arbitrary<JobSchedule> = fc.record({
  seed,
  jobs: fc.array(terms, { minLength: JOBS, maxLength: JOBS }),
  steps: fc
    .tuple(start, start, fc.array(step, { minLength: 1, maxLength: 20, size: 'max' }))
    .map(([one, other, rest]) => [{ ...one, who: 0 }, { ...other, who: 1 }, ...rest]),
});
