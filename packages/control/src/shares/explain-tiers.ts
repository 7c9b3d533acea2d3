import { formatBytes } from '@tiered/core';
import type { Decision } from './decide.js';
import type { JobAtTier, TierDecision } from './tier-shares.js';

/** Explains a job's share of each tier that it shares with others, in one sentence for each. */
export function explainTiers({ tiers }: Pick<Decision, 'tiers'>, job: string): string[] {
  return tiers.flatMap((tier) => {
    const own = tier.jobs.find((one) => one.job === job);
    return own === undefined ? [] : [sentenceOf(tier, own)];
  });
}

function sentenceOf({ node, place, quotaBytes, jobs }: TierDecision, own: JobAtTier): string {
  const { job, weight, wanted, held, share, excess } = own;
  const all = jobs.reduce((sum, one) => sum + one.weight, 0);
  const why =
    share >= wanted
      ? ', which is all that it could use'
      : `: ${jobs.length} jobs share ${formatBytes(quotaBytes)} by weight, and ${weight} of ${all} is its`;
  const back = excess > 0 ? ' It gives back what others lack.' : '';
  return `${job} holds ${formatBytes(held)} of the tier ${place} on ${node}, and may hold ${formatBytes(Math.floor(share))}${why}.${back}`;
}
