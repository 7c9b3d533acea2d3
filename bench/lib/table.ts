import Table from 'cli-table3';
import type { Cell, Check, Row } from './bench.js';

/** The rows as tables, a new one where the columns change; numbers to the right. */
export function renderRows(rows: readonly Row[]): string {
  if (rows.length === 0) return '(no rows)';
  const tables = new Map<string, Row[]>();
  for (const row of rows) {
    const columns = Object.keys(row).join();
    tables.set(columns, [...(tables.get(columns) ?? []), row]);
  }
  return [...tables.values()].map(renderTable).join('\n');
}

function renderTable(rows: readonly Row[]): string {
  const [first = {}] = rows;
  const columns = Object.keys(first);
  const colAligns = columns.map((column) => (typeof first[column] === 'string' ? 'left' : 'right'));
  const table = new Table({ head: columns, colAligns, style: { head: [], border: [] } });
  for (const row of rows) table.push(columns.map((column) => format(row[column])));
  return table.toString();
}

/** The checks, one a line. */
export function renderChecks(checks: readonly Check[]): string {
  return checks
    .map(
      ({ name, value, unit, aim, ok }) =>
        `${ok ? 'ok    ' : 'MISSED'}  ${name}: ${format(value)} ${unit} (aim ${aim})`,
    )
    .join('\n');
}

function format(value: Cell | undefined): string {
  if (typeof value === 'object') return value.map(format).join(' ');
  if (typeof value !== 'number') return value ?? '';
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en');
  return value.toFixed(2);
}
