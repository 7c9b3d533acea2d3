import type { PolicyRecord } from '@tiered/control';
import { formatBytes } from '@tiered/core';
import { countOf, percentOf, rateOf } from '../words.js';
import type { ControlView, JobAtSource, NodeView, RateView, SourceView } from './view.js';

const ORIGINS: Readonly<Record<SourceView['budgetFrom'], string>> = {
  policy: 'as operators have set it',
  options: 'as its jobs say',
  measured: 'as measured',
  none: 'not known yet',
};

/** All sources, jobs and nodes, in lines. */
export function viewLines({ sources, nodes, idle }: ControlView): string[] {
  const limited = nodes.filter(
    ({ memoryBytes, producers }) => memoryBytes.most !== null || producers.most !== null,
  );
  return [
    ...sources.flatMap((source, at) => [...(at === 0 ? [] : ['']), ...sourceLines(source)]),
    ...idle.map((job) => `job ${job} reads from no source yet`),
    ...limited.map(nodeLine),
  ];
}

/** What operators have set, in lines. */
export function policyLines(policy: PolicyRecord | undefined): string[] {
  if (policy === undefined) return ['operators have set nothing'];
  const { revision, by, sources, jobs, nodes } = policy;
  const lines = [
    ...Object.entries(sources).map(([name, { bytes = null, operations = null }]) => {
      return `  source ${name}: ${rateText({ bytes, operations })}`;
    }),
    ...Object.entries(jobs).map(([name, { weight, priority, atLeast, atMost }]) => {
      const terms = [
        ...(weight === undefined ? [] : [`weight ${weight}`]),
        ...(priority === undefined ? [] : [`priority ${priority}`]),
        ...(atLeast?.bytes === undefined ? [] : [`at least ${bytesText(atLeast.bytes)}`]),
        ...(atMost?.bytes === undefined ? [] : [`at most ${bytesText(atMost.bytes)}`]),
      ];
      return `  job ${name}: ${terms.join(', ')}`;
    }),
    ...Object.entries(nodes).map(([name, { memory, producers }]) => {
      const parts = [
        ...(memory === undefined ? [] : [formatBytes(memory)]),
        ...(producers === undefined ? [] : [countOf(producers, 'producer')]),
      ];
      return `  node ${name}: ${parts.join(', ')}`;
    }),
  ];
  const who = by === undefined ? '' : ` by ${by}`;
  return [`revision ${revision}, set${who}${lines.length === 0 ? ': nothing' : ':'}`, ...lines];
}

/** A rate for people. */
function rateText({ bytes, operations }: RateView): string {
  const parts = [
    ...(bytes === null ? [] : [bytesText(bytes)]),
    ...(operations === null ? [] : [`${whole(operations)} requests/s`]),
  ];
  return parts.join(', ') || 'no bound';
}

const HEAD = ['job', 'weight', 'priority', 'wants', 'gets', 'uses', 'requests', 'waits', 'stall', 'stages'];

function sourceLines({ source, budget, budgetFrom, jobs }: SourceView): string[] {
  const gives = budgetFrom === 'none' ? ORIGINS.none : `${rateText(budget)}, ${ORIGINS[budgetFrom]}`;
  const table = columns([HEAD, ...jobs.map(jobRow)]);
  return [`source ${source}: ${gives}`, ...table.map((line) => `  ${line}`)];
}

function jobRow({ job, weight, priority, wanted, share, used, waits, stall, stages }: JobAtSource): string[] {
  return [
    job,
    String(weight),
    String(priority),
    wanted.bytes === null ? 'everything' : bytesText(wanted.bytes),
    share.bytes === null ? 'no bound' : bytesText(share.bytes),
    bytesText(used.bytes ?? 0),
    `${whole(used.operations ?? 0)}/s`,
    percentOf(waits),
    stall === null ? '-' : percentOf(stall),
    String(stages),
  ];
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

const bytesText = (bytes: number): string => rateOf(bytes / 1e6);

const whole = (number: number): string => Math.round(number).toLocaleString('en');

/** Puts rows under each other: names to the left, all else to the right. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = HEAD.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  '),
  );
}
