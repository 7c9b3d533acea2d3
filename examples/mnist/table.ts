import Table from 'cli-table3';
import { megabytes, percent, seconds } from './format.js';
import { phasesOf, type Outcome, type Phase } from './run.js';
import type { Place } from './setups.js';
import { waitedSeconds } from './summary.js';

export const COLUMNS = [
  'setup',
  'epoch',
  'seconds',
  'waiting s',
  'source ops',
  'source MB',
  'from RAM',
  'from disk',
  'from source',
  'accuracy',
] as const;

/** The rows of one setup: without its name, and as text. */
export function rowsOf(outcome: Outcome): string[][] {
  const { filling, epochs } = outcome;
  const rows = epochs.map((epoch, index) => {
    const share = (place: Place) => percent(epoch.bytesFrom[place] / epoch.bytes);
    return [
      ...phaseCells(String(index + 1), [epoch], epoch.stallSeconds),
      share('RAM'),
      share('disk'),
      share('source'),
      percent(epoch.accuracy, 2),
    ];
  });
  const nothing = ['', '', '', ''];
  if (filling !== undefined) rows.unshift([...phaseCells('copy', [filling], filling.seconds), ...nothing]);
  return [...rows, [...phaseCells('all', phasesOf(outcome), waitedSeconds(outcome)), ...nothing]];
}

function phaseCells(name: string, phases: readonly Phase[], waitingSeconds: number): string[] {
  return [
    name,
    seconds(sum(phases.map((phase) => phase.seconds))),
    seconds(waitingSeconds),
    String(sum(phases.map(({ source }) => source.operations))),
    megabytes(sum(phases.map(({ source }) => source.bytes))),
  ];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Everything that was measured, for a terminal. */
export function renderTable(outcomes: readonly Outcome[]): string {
  const table = new Table({
    head: [...COLUMNS],
    colAligns: COLUMNS.map((_, column) => (column === 0 ? 'left' : 'right')),
    style: { head: [], border: [], compact: true },
  });
  for (const [index, outcome] of outcomes.entries()) {
    if (index > 0) table.push([]);
    for (const [i, row] of rowsOf(outcome).entries()) table.push([i === 0 ? outcome.setup.name : '', ...row]);
  }
  return table.toString();
}
