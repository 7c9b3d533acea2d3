import type { PolicyRecord } from '@tiered/control';
import { isDeepStrictEqual } from 'node:util';
import { Finding } from '../simulated/finding.js';
import { fairShares } from './fair.js';
import type { Job } from './job.js';
import { OBJECT_BYTES } from './source.js';
import type { Stage } from './stage.js';
import type { JobTerms } from './steps.js';

/** Jobs come to within so much of their shares. */
const OFF = 0.1;

/** All know those that are there, and nobody else, and what was set last [U5] [U6] [U7] [U8]. */
export function assertAgree(jobs: readonly Job[], stages: readonly Stage[]): void {
  const there = sorted(stages.map(({ id }) => id ?? ''));
  for (const job of jobs) {
    const known = sorted(job.known);
    if (known !== sorted(stages.map(({ id }) => id ?? '')))
      throw new Finding('stages', `stage ${job.options.who} knows ${known}, and there are ${there}`);
    if (!isDeepStrictEqual(job.policy, jobs[0]?.policy))
      throw new Finding(
        'policy',
        `stage ${job.options.who} has ${JSON.stringify(job.policy)}, and another one ${JSON.stringify(jobs[0]?.policy)}`,
      );
  }
}

const sorted = (ids: readonly string[]) => ids.toSorted().join(', ');

/** What decides shares. */
interface Sharing {
  readonly stages: readonly Stage[];
  readonly terms: readonly JobTerms[];
  readonly policy: PolicyRecord | undefined;
}

/**
 * Jobs read what is their share [U4]. One that trains may ask for more than it can use for a while, so
 * others have at least what they would have if all wanted everything.
 * @param rates Bytes in a second, of each stage that reads.
 */
export function assertShares(
  jobs: readonly Job[],
  rates: readonly number[],
  { stages, terms, policy }: Sharing,
): void {
  const wanted = (stage: Stage) => jobs.find((job) => job === stage)?.wanted ?? Infinity;
  const sharesIf = (wants: (stage: Stage) => number) => {
    const shares = fairShares(
      stages.map((stage) => ({ stage, wanted: wants(stage) })),
      terms,
      policy,
    );
    return jobs.map((job) => shares[stages.indexOf(job)] ?? 0);
  };
  const most = sharesIf(wanted);
  const least = sharesIf(() => Infinity).map((share, at) => Math.min(share, jobs[at]?.wanted ?? 0));
  for (const name of new Set(jobs.map(({ job }) => job))) {
    const sum = (amounts: readonly number[]) =>
      amounts.reduce((all, amount, at) => all + (jobs[at]?.job === name ? amount : 0), 0);
    const [rate, atLeast, atMost] = [sum(rates), sum(least), sum(most)];
    if (rate < (1 - OFF) * atLeast - OBJECT_BYTES || rate > (1 + OFF) * atMost + OBJECT_BYTES)
      throw new Finding(
        'another share',
        `${name} reads ${rate} bytes a second, and its share is ${atLeast} to ${atMost}`,
      );
  }
}
