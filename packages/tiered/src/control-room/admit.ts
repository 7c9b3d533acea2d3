import { admission, decide, type Admission, type Candidate, type Effect, type Seen } from '@tiered/control';
import { TieredError } from '@tiered/core';
import { own } from '@tiered/core/internal';
import { percentOf, rateOf } from '../words.js';

/**
 * A job that may come, at the source that is meant.
 * @throws TieredError `TIERED_CONFIG_INVALID` if it is not said which of several sources that is,
 * `TIERED_NOT_FOUND` for one whose budget nobody knows.
 */
export function candidateIn(
  { stages, policy }: Seen,
  { source, ...rest }: Omit<Candidate, 'source'> & { readonly source: string | undefined },
): Candidate {
  const sources = [...new Set(stages.flatMap((stage) => Object.keys(stage.sources)))].sort();
  const meant = source ?? (sources.length === 1 ? sources[0] : undefined);
  if (meant === undefined) {
    const known = sources.length === 0 ? 'no job reads from any now' : `jobs read from ${sources.join(', ')}`;
    throw new TieredError('TIERED_CONFIG_INVALID', `admit: name the source with --source; ${known}`);
  }
  const isMeasured = stages.some((stage) => own(stage.sources, meant)?.measured !== undefined);
  const budgetFrom = decide(stages, policy).sources.get(meant)?.budgetFrom ?? 'none';
  if (budgetFrom !== 'none' || isMeasured || own(policy?.sources, meant) !== undefined)
    return { source: meant, ...rest };
  const set = `tiered control set --source ${meant} --bytes-per-second 150MB`;
  const others = sources.length === 0 ? 'nor from any other source' : `there are: ${sources.join(', ')}`;
  throw new TieredError(
    'TIERED_NOT_FOUND',
    sources.includes(meant)
      ? `Nobody has said yet what ${meant} gives; say it: ${set}`
      : `No job reads from ${meant} now; ${others}. If it is new, say first what it gives: ${set}`,
  );
}

/** What would become of all jobs, and in words. */
export interface Verdict {
  readonly admission: Admission;
  readonly lines: readonly string[];
}

/** Finds out whether one more job would starve the others, or itself. */
export function verdictOf(seen: Seen, candidate: Candidate): Verdict {
  const found = admission(seen, candidate);
  const [own] = found.effects;
  const starved = found.effects.filter(({ isStarvedByIt }) => isStarvedByIt).map(({ job }) => job);
  const headline = found.fits
    ? `It fits: ${candidate.job} would have all that it wants of ${candidate.source}, and takes from no job what that job needs.`
    : starved.length > 0
      ? `It does not fit: ${starved.join(', ')} would not have enough of ${candidate.source} any more.`
      : `It does not fit: ${candidate.job} would have ${percentOf(own?.served ?? 0)} of what it wants of ${candidate.source}.`;
  return { admission: found, lines: [headline, ...found.effects.map((effect) => `  ${effectText(effect)}`)] };
}

function effectText({ job, wanted, before, after, served }: Effect): string {
  const isGreedy = wanted.bytes === Infinity;
  const part = isGreedy
    ? 'it wants everything'
    : `${percentOf(served)} of the ${bytesText(wanted.bytes)} that it wants`;
  const now = before === undefined ? '' : `; now it has ${bytesText(before.bytes)}`;
  return `${job} would have ${bytesText(after.bytes)}, ${part}${now}`;
}

const bytesText = (bytes: number): string => (bytes === Infinity ? 'no bound' : rateOf(bytes / 1e6));
