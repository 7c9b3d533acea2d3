import type { Policy, PolicyRecord } from '@tiered/control';
import { formatBytes } from '@tiered/core';
import { countOf, givenBytes } from '../words.js';
import { givenRateText, rateText } from './rates.js';
import { jobLines } from './table.js';
import type { ControlView, NodeView, SourceView, TierView } from './view.js';

const INDENT = '  ';
const ORIGINS: Readonly<Record<SourceView['budgetFrom'], string>> = {
  policy: 'as operators have set it',
  options: 'as its jobs say',
  measured: 'as measured',
  none: 'not known yet',
};

/**
 * All sources, jobs and nodes, in lines.
 * @param width Characters of a line of the terminal. Default: tables are as wide as they are.
 */
export function viewLines({ sources, nodes, tiers, idle }: ControlView, width = Infinity): string[] {
  const limited = nodes.filter(
    ({ memoryBytes, producers }) => memoryBytes.most !== null || producers.most !== null,
  );
  return [
    ...sources.flatMap((source, at) => [...(at === 0 ? [] : ['']), ...sourceLines(source, width)]),
    ...idle.map((job) => `job ${job} reads from no source yet`),
    ...limited.map(nodeLine),
    ...tiers.map(tierLine),
  ];
}

/** What a source gives, who says so, and how much of it jobs share, in lines. */
export function budgetLines({ budget, budgetFrom, sharedOut }: SourceView): string[] {
  if (budgetFrom === 'none') return [ORIGINS.none];
  const text = budgetFrom === 'measured' ? rateText(budget) : givenRateText(budget);
  const part = (sharedOut.bytes ?? sharedOut.operations ?? 1) / (budget.bytes ?? budget.operations ?? 1);
  const shared = `jobs share ${rateText(sharedOut)} of it: ${Number((100 * part).toFixed(1))} %, so that requests do not wait in it`;
  return [`${text}, ${ORIGINS[budgetFrom]}`, ...(part < 1 ? [shared] : [])];
}

/** What operators have set, in lines. */
export function policyLines(policy: PolicyRecord | undefined): string[] {
  if (policy === undefined) return ['operators have set nothing'];
  const { revision, by } = policy;
  const lines = settingLines(policy).map((line) => `  ${line}`);
  const who = by === undefined ? '' : ` by ${by}`;
  return [`revision ${revision}, set${who}${lines.length === 0 ? ': nothing' : ':'}`, ...lines];
}

/** Each thing of which something is set, in a line. */
export function settingLines({ sources, jobs, nodes }: Policy): string[] {
  return [
    ...Object.entries(sources).map(([name, budget]) => `source ${name}: ${boundText(budget)}`),
    ...Object.entries(jobs).map(([name, { weight, priority, atLeast, atMost }]) => {
      const terms = [
        ...(weight === undefined ? [] : [`weight ${weight}`]),
        ...(priority === undefined ? [] : [`priority ${priority}`]),
        ...(atLeast === undefined ? [] : [`at least ${boundText(atLeast)}`]),
        ...(atMost === undefined ? [] : [`at most ${boundText(atMost)}`]),
      ];
      return `job ${name}: ${terms.join(', ')}`;
    }),
    ...Object.entries(nodes).map(([name, { memory, producers }]) => {
      const parts = [
        ...(memory === undefined ? [] : [givenBytes(memory)]),
        ...(producers === undefined ? [] : [countOf(producers, 'producer')]),
      ];
      return `node ${name}: ${parts.join(', ')}`;
    }),
  ];
}

/** A rate of a policy, as somebody has set it. */
function boundText({ bytes, operations }: Policy['sources'][string]): string {
  return givenRateText({ bytes: bytes ?? null, operations: operations ?? null });
}

/** Says that something is set no more. */
export const removedLine = (line: string): string => `removed: ${line}`;

function sourceLines(source: SourceView, width: number): string[] {
  const [budget = '', ...more] = budgetLines(source);
  const indented = [...more, ...jobLines(source.jobs, width - INDENT.length)];
  return [`source ${source.source}: ${budget}`, ...indented.map((line) => `${INDENT}${line}`)];
}

function nodeLine({ node, stages, memoryBytes, producers }: NodeView): string {
  const parts = [
    ...(memoryBytes.most === null
      ? []
      : [`${formatBytes(memoryBytes.used)} of ${formatBytes(memoryBytes.most)} of memory`]),
    ...(producers.most === null
      ? []
      : [`${producers.used.toLocaleString('en')} of ${countOf(producers.most, 'producer')}`]),
  ];
  return `node ${node}, ${countOf(stages, 'stage')}: ${parts.join(', ')}`;
}

function tierLine({ node, place, quotaBytes, jobs }: TierView): string {
  const parts = jobs.map(
    ({ job, held, share }) => `${job} holds ${formatBytes(held)} of ${formatBytes(share)}`,
  );
  return `tier ${place} on ${node}, ${formatBytes(quotaBytes)}: ${parts.join(', ')}`;
}
