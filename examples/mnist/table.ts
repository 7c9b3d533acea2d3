import Table from 'cli-table3';
import { megabytes, percent, seconds } from './format.js';
import { phasesOf, type Outcome, type Phase } from './run.js';
import type { Place } from './setups.js';

export const COLUMNS = [
  'setup',
  'epoch',
  'seconds',
  'stalled s',
  'source ops',
  'source MB',
  'RAM hits',
  'disk hits',
  'misses',
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
  // While everything is copied first, the model has nothing to do either.
  const copying = filling?.seconds ?? 0;
  if (filling !== undefined) rows.unshift([...phaseCells('copy', [filling], copying), ...nothing]);
  const stalled = copying + sum(epochs.map(({ stallSeconds }) => stallSeconds));
  return [...rows, [...phaseCells('all', phasesOf(outcome), stalled), ...nothing]];
}

function phaseCells(name: string, phases: readonly Phase[], stallSeconds: number): string[] {
  return [
    name,
    seconds(sum(phases.map((phase) => phase.seconds))),
    seconds(stallSeconds),
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
