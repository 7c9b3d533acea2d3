import { formatBytes } from '@tiered/core';
import type { Decision, JobDecision, SourceDecision } from './decide.js';
import type { Rate } from './rate.js';

type Part = keyof Rate;

/** Shares that differ by less are the same, as far as people are concerned. */
const SAME = 0.001;

/**
 * Says why a job gets what it gets: a few sentences for each source that it reads.
 * @returns Nothing if no stage of the job is there.
 */
export function explain(decision: Decision, job: string): string[] {
  return [...decision.sources.values()].flatMap((source) => {
    const own = source.jobs.find((one) => one.job === job);
    return own === undefined ? [] : sentencesOf(source, own);
  });
}

function sentencesOf(source: SourceDecision, own: JobDecision): string[] {
  const { budget } = source;
  if (budget.bytes === Infinity && budget.operations === Infinity)
    return [`${source.source}: nothing bounds it. ${WHERE_FROM.none} So ${own.job} reads as it likes.`];
  const parts = (['bytes', 'operations'] as const).filter((part) => budget[part] < Infinity);
  return [
    `${source.source} gives ${parts.map((part) => shown(budget[part], part)).join(' and ')}. ${WHERE_FROM[source.budgetFrom]}`,
    ...parts.map((part) => `${own.job} has ${shown(own.share[part], part)}${reasonOf(source, own, part)}`),
    `It uses ${shown(own.used.bytes, 'bytes')} in ${shown(own.used.operations, 'operations')}.`,
  ];
}

const WHERE_FROM = {
  policy: 'An operator has set that.',
  options: 'The options of a job say so.',
  measured: 'That was measured.',
  none: 'No budget is set, and no other job reads from it.',
};

function reasonOf({ jobs }: SourceDecision, own: JobDecision, part: Part): string {
  const { terms } = own;
  const [share, wanted] = [own.share[part], own.wanted[part]];
  if (isAbout(share, wanted)) return ', which is all that it wants.';
  const want = wanted === Infinity ? 'everything' : shown(wanted, part);
  if (isAbout(share, terms.atMost[part])) return `, which is its limit. It wants ${want}.`;
  const first = jobs.filter((job) => job.terms.priority > terms.priority && job.share[part] > 0);
  if (first.length > 0)
    return `. It wants ${want}, and jobs of a higher priority come first: ${namesOf(first)}.`;
  if (isAbout(share, terms.atLeast[part])) return `, which is guaranteed to it. It wants ${want}.`;
  return `. It wants ${want}. ${byWeight(jobs, own, part)}`;
}

/** The jobs of its priority that get less than they want share by weight what the others leave. */
function byWeight(jobs: readonly JobDecision[], own: JobDecision, part: Part): string {
  const content = jobs.filter((job) => job !== own && isAbout(job.share[part], job.wanted[part]));
  const rivals = jobs.filter((job) => job.terms.priority === own.terms.priority && !content.includes(job));
  const weights = rivals.reduce((sum, { terms }) => sum + terms.weight, 0);
  const left = rivals.reduce((sum, job) => sum + job.share[part], 0);
  const others =
    content.length === 0
      ? ''
      : ` ${namesOf(content)} ${content.length > 1 ? 'have' : 'has'} all that is wanted there.`;
  if (rivals.length === 1) return `Nobody else wants more.${others}`;
  return `${rivals.length} jobs want more than they have and share ${shown(left, part)} by weight: ${own.terms.weight} of ${weights} is its.${others}`;
}

function isAbout(share: number, other: number): boolean {
  if (share === Infinity || other === Infinity) return share === other;
  return Math.abs(share - other) <= SAME * Math.max(share, other);
}

function namesOf(jobs: readonly JobDecision[]): string {
  return jobs.map(({ job }) => job).join(', ');
}

function shown(amount: number, part: Part): string {
  if (part === 'bytes') return amount === Infinity ? 'any bytes' : `${formatBytes(Math.round(amount))}/s`;
  return amount === Infinity ? 'any requests' : `${amount.toFixed(amount < 10 ? 1 : 0)} requests/s`;
}
