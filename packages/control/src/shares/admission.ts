import { NO_RATE, type Rate } from './rate.js';
import { decide } from './decide.js';
import { recordOf } from './terms.js';
import type { Seen } from '../records/board.js';
import type { Stage, TermsRecord } from '../records/stage-record.js';

/** A job that may come. */
export interface Candidate {
  readonly job: string;
  readonly terms: TermsRecord;
  /** The source that it would read, by name. */
  readonly source: string;
  /** What it could use of it. */
  readonly wanted: Rate;
}

/** What would become of one job. */
export interface Effect {
  readonly job: string;
  readonly wanted: Rate;
  /** What it has now. Undefined for the candidate. */
  readonly before: Rate | undefined;
  readonly after: Rate;
  /** The part of what it wants that it would have, 0 to 1. */
  readonly served: number;
  /** Whether it has all that it wants now, and would have less. */
  readonly isStarvedByIt: boolean;
}

/** What would become of all jobs of a source if another one came. */
export interface Admission {
  /** Whether each job that has all that it wants would still have it, and the candidate would, too. */
  readonly fits: boolean;
  /** The candidate first. */
  readonly effects: readonly Effect[];
}

/** Jobs that get this part of what they want, or more, do not starve. */
const ENOUGH = 0.95;

/**
 * Finds out whether one more job would starve the others, or itself: the shares of all with it, from the same
 * records and by the same function that all stages go by. What jobs want is what they say now.
 */
export function admission({ stages, policy }: Seen, { job, terms, source, wanted }: Candidate): Admission {
  const candidate: Stage = {
    id: '~candidate',
    v: 1,
    kind: 'stage',
    job,
    node: 'candidate',
    terms,
    sources: {
      [source]: { used: NO_RATE, wanted: recordOf(wanted), waits: 0 },
    },
    tiers: {},
  };
  const before = decide(stages, policy).sources.get(source)?.jobs ?? [];
  const after = decide([...stages, candidate], policy).sources.get(source)?.jobs ?? [];
  const effects = after.map((one): Effect => {
    const now = before.find((other) => other.job === one.job)?.share;
    const served = servedOf(one.share, one.wanted);
    const isStarvedByIt = now !== undefined && servedOf(now, one.wanted) >= ENOUGH && served < ENOUGH;
    return { job: one.job, wanted: one.wanted, before: now, after: one.share, served, isStarvedByIt };
  });
  const own = effects.filter((effect) => effect.job === job);
  const fits = !effects.some((effect) => effect.isStarvedByIt) && own.every(({ served }) => served >= ENOUGH);
  return { fits, effects: [...own, ...effects.filter((effect) => effect.job !== job)] };
}

/** A job that wants everything is never satisfied; it counts as served by what it has. */
function servedOf(share: Rate, wanted: Rate): number {
  const part = (of: keyof Rate) =>
    wanted[of] === 0 || wanted[of] === Infinity ? 1 : Math.min(1, share[of] / wanted[of]);
  return Math.min(part('bytes'), part('operations'));
}
