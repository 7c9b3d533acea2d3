import { formatBytes } from '@tiered/core';
import { grouped } from '@tiered/core/internal';
import type { Decision, JobDecision, SourceDecision } from './decide.js';
import type { Rate } from './rate.js';

type Part = keyof Rate;
const PARTS = ['bytes', 'operations'] as const;

/**
 * Explains the shares of a job, in a few sentences for each source that it reads. They report the decision,
 * and recompute nothing.
 * @returns An empty list if no stage of the job has yet reported that it reads from a source. A stage's
 * record does so half a second after `Control.source`, and the decision of its own `Control.view` does at
 * once.
 */
export function explain(decision: Decision, job: string): string[] {
  return [...decision.sources.values()].flatMap((source) => {
    const own = source.jobs.find((one) => one.job === job);
    return own === undefined ? [] : sentencesOf(source, own);
  });
}

function sentencesOf(source: SourceDecision, own: JobDecision): string[] {
  const bounded = PARTS.filter((part) => source.budget[part] < Infinity || own.boundBy[part] === 'atMost');
  const without = bounded.length === 0 ? ` So ${own.job} reads as it likes.` : '';
  return [
    `${givenBy(source)}${without}`,
    ...bounded.map((part) => `${own.job} has ${shown(own.share[part], part)}${reasonOf(source, own, part)}`),
    `It uses ${shown(own.used.bytes, 'bytes')} in ${shown(own.used.operations, 'operations')}.`,
  ];
}

const WHERE_FROM = {
  policy: 'An operator has set that.',
  options: 'The options of a job say so.',
  measured: 'That was measured.',
};

function givenBy({ source, budget, budgetFrom, jobs }: SourceDecision): string {
  const given = PARTS.filter((part) => budget[part] < Infinity).map((part) => shown(budget[part], part));
  if (budgetFrom !== 'none' && given.length > 0)
    return `${source} gives ${given.join(' and ')}. ${WHERE_FROM[budgetFrom]}`;
  const why = jobs.length > 1 ? 'what it gives was not measured yet' : 'no other job reads from it';
  return `${source}: nothing bounds it. No budget is set, and ${why}.`;
}

function reasonOf(source: SourceDecision, own: JobDecision, part: Part): string {
  const wanted = own.wanted[part];
  const want = `It wants ${wanted === Infinity ? 'everything' : shown(wanted, part)}.`;
  switch (own.boundBy[part]) {
    case 'wanted':
      return ', which is all that it wants.';
    case 'otherPart':
      return `, which is all that it can use with its ${otherOf(part)}. ${want}`;
    case 'atMost':
      return `, which is its limit. ${want}`;
    case 'atLeast':
      return `, which ${guaranteeOf(own, part)}. ${want}${othersOf(source, own, part)}`;
    case 'weight':
      return `. ${want}${othersOf(source, own, part)} ${byWeight(source, own, part)}`;
  }
}

/** The part a job gets before others: its guarantee, or the minimum that every job keeps. */
function guaranteeOf({ terms, share }: JobDecision, part: Part): string {
  const atLeast = terms.atLeast[part];
  if (share[part] > atLeast) return 'is its part of the hundredth that all jobs keep';
  if (share[part] === atLeast) return 'is guaranteed to it';
  return `is left of its guarantee, ${shown(atLeast, part)}, since all guarantees come to nine tenths at most`;
}

/** Reasons why a job does not share by weight with another one, in the order of the explanation. */
const GROUPS = ['first', 'atLeast', 'wanted', 'otherPart', 'atMost', 'weight', 'last'] as const;
type Group = (typeof GROUPS)[number];

/**
 * Explains the amount that is shared out, and its parts for jobs that do not share by weight with this one.
 */
function othersOf({ jobs, sharedOut }: SourceDecision, own: JobDecision, part: Part): string {
  const others = jobs.filter((job) => job.share[part] > 0 && job !== own && !arePeers(job, own, part));
  const groups = grouped(others, (job) => groupOf(job, own, part));
  if (groups.size === 0) return '';
  const parts = GROUPS.flatMap((group) => {
    const members = groups.get(group);
    return members === undefined ? [] : [wordsOf(group, members, own, part)];
  });
  return ` ${shown(sharedOut[part], part)} are shared out: ${parts.join('; ')}.`;
}

function groupOf(job: JobDecision, own: JobDecision, part: Part): Group {
  if (job.terms.priority === own.terms.priority) return job.boundBy[part];
  return job.terms.priority > own.terms.priority ? 'first' : 'last';
}

function wordsOf(group: Group, jobs: readonly JobDecision[], own: JobDecision, part: Part): string {
  const isOne = jobs.length === 1;
  const has = `${namesOf(jobs)} ${isOne ? 'has' : 'have'} ${shown(sharesOf(jobs, part), part)}`;
  switch (group) {
    case 'first':
      return `${has} by a higher priority`;
    case 'atLeast':
      return `${has} before others`;
    case 'wanted':
      return `${has} and ${isOne ? 'wants' : 'want'} no more`;
    case 'otherPart':
      return `${has} and can use no more with ${isOne ? 'its' : 'their'} ${otherOf(part)}`;
    case 'atMost':
      return `${has}, ${isOne ? 'its limit' : 'their limits'}`;
    case 'weight':
      return `${has} by weight, no more for ${isOne ? 'its' : 'their'} weight than ${own.job}`;
    case 'last':
      return `${has} in spite of a lower priority`;
  }
}

/** Explains the amount that is left for this job and those that share it by weight. */
function byWeight({ jobs }: SourceDecision, own: JobDecision, part: Part): string {
  const peers = jobs.filter((job) => arePeers(job, own, part));
  if (peers.length === 1) {
    const isAlone = jobs.every((job) => job === own || job.share[part] === 0);
    return `${own.job} has ${isAlone ? 'all that is shared out' : 'the rest'}.`;
  }
  const weights = peers.reduce((sum, { terms }) => sum + terms.weight, 0);
  const left = shown(sharesOf(peers, part), part);
  return `${peers.length} jobs want more than they have and share ${left} by weight: ${weightOf(own.terms.weight)} of ${weightOf(weights)} is its.`;
}

/** Whether two jobs share the remainder by weight. */
function arePeers(job: JobDecision, own: JobDecision, part: Part): boolean {
  return groupOf(job, own, part) === 'weight' && own.boundBy[part] === 'weight';
}

function sharesOf(jobs: readonly JobDecision[], part: Part): number {
  return jobs.reduce((sum, { share }) => sum + share[part], 0);
}

const otherOf = (part: Part) => (part === 'bytes' ? 'requests' : 'bytes');

/** The most jobs that are named. */
const MOST_NAMES = 8;

function namesOf(jobs: readonly JobDecision[]): string {
  const names = jobs.slice(0, MOST_NAMES).map(({ job }) => job);
  const others = jobs.length - names.length;
  return `${names.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

/** Sums of weights are rounded. */
const weightOf = (weight: number) => String(Number(weight.toPrecision(6)));

function shown(amount: number, part: Part): string {
  if (part === 'bytes') return amount === Infinity ? 'any bytes' : `${formatBytes(Math.round(amount))}/s`;
  return amount === Infinity ? 'any requests' : `${amount.toFixed(amount < 10 ? 1 : 0)} requests/s`;
}
