import { percentOf } from '../words.js';
import { amountText, bytesText, limitText } from './rates.js';
import type { JobAtSource } from './view.js';

/** A column of the table of jobs. */
interface Column {
  readonly head: string;
  readonly cell: (job: JobAtSource) => string;
  /** Whether it says anything of these jobs. Default: always. */
  readonly isNeeded?: (job: JobAtSource) => boolean;
}

const JOB = 'job';
const COLUMNS: readonly Column[] = [
  { head: JOB, cell: ({ job }) => job },
  { head: 'weight', cell: ({ weight }) => String(weight) },
  { head: 'priority', cell: ({ priority }) => String(priority) },
  {
    head: 'at least',
    cell: ({ atLeast }) => limitText(atLeast, '-'),
    isNeeded: ({ atLeast }) => limitText(atLeast, '') !== '',
  },
  {
    head: 'at most',
    cell: ({ atMost }) => limitText(atMost, '-'),
    isNeeded: ({ atMost }) => limitText(atMost, '') !== '',
  },
  { head: 'wants', cell: ({ wanted }) => (wanted.bytes === null ? 'everything' : bytesText(wanted.bytes)) },
  { head: 'gets', cell: ({ share }) => (share.bytes === null ? 'no bound' : bytesText(share.bytes)) },
  { head: 'uses', cell: ({ used }) => bytesText(used.bytes ?? 0) },
  { head: 'requests', cell: ({ used }) => `${amountText(used.operations ?? 0)}/s` },
  { head: 'waits', cell: ({ waits }) => percentOf(waits) },
  { head: 'stall', cell: ({ stall }) => (stall === null ? '-' : percentOf(stall)) },
  { head: 'stages', cell: ({ stages }) => String(stages) },
];

/** What a narrow terminal leaves out, the first at first. */
const LEFT_OUT = ['stages', 'priority', 'requests', 'weight', 'at most', 'at least', 'stall', 'waits'];
/** A name is not shortened below so many characters. */
const LEAST_NAME = 8;
const BETWEEN = '  ';

/**
 * The jobs of a source in lines, under a head. Guarantees and limits stand there if a job has any.
 * @param width Characters of a line. Columns that matter least are left out, and names shortened, until it
 * fits.
 */
export function jobLines(jobs: readonly JobAtSource[], width = Infinity): string[] {
  let columns = COLUMNS.filter(({ isNeeded }) => isNeeded === undefined || jobs.some(isNeeded));
  for (const head of LEFT_OUT) {
    if (widthOf(columns, jobs) <= width) break;
    columns = columns.filter((column) => column.head !== head);
  }
  const longest = Math.max(...jobs.map(({ job }) => job.length), JOB.length);
  const most = Math.max(LEAST_NAME, longest - Math.max(0, widthOf(columns, jobs) - width));
  const short = jobs.map((one) => ({ ...one, job: shortened(one.job, most) }));
  const widths = columns.map((column) => columnWidth(column, short));
  const heads = columns.map(({ head }) => head);
  return [heads, ...short.map((job) => columns.map(({ cell }) => cell(job)))].map((row) =>
    row
      // Names to the left, all else to the right.
      .map((text, at) => (at === 0 ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0)))
      .join(BETWEEN),
  );
}

function widthOf(columns: readonly Column[], jobs: readonly JobAtSource[]): number {
  const cells = columns.reduce((sum, column) => sum + columnWidth(column, jobs), 0);
  return cells + BETWEEN.length * (columns.length - 1);
}

function columnWidth({ head, cell }: Column, jobs: readonly JobAtSource[]): number {
  return Math.max(head.length, ...jobs.map((job) => cell(job).length));
}

function shortened(name: string, most: number): string {
  return name.length <= most ? name : `${name.slice(0, most - 1)}…`;
}
