import Table from 'cli-table3';
import type { Cell, Check, Row } from './bench.js';

/** Rows with the same columns, in text. */
export interface TextTable {
  readonly head: readonly string[];
  /** Of each column: numbers go to the right. */
  readonly aligns: readonly ('left' | 'right')[];
  readonly lines: readonly (readonly string[])[];
}

/** The rows as tables, a new one where the columns change. */
export function tablesOf(rows: readonly Row[]): TextTable[] {
  const tables = new Map<string, Row[]>();
  for (const row of rows) {
    const columns = Object.keys(row).join();
    tables.set(columns, [...(tables.get(columns) ?? []), row]);
  }
  return [...tables.values()].map(tableOf);
}

function tableOf(rows: readonly Row[]): TextTable {
  const [first = {}] = rows;
  const head = Object.keys(first);
  return {
    head,
    aligns: head.map((column) => (typeof first[column] === 'string' ? 'left' : 'right')),
    lines: rows.map((row) => head.map((column) => format(row[column]))),
  };
}

/** The rows as tables for a terminal. */
export function renderRows(rows: readonly Row[]): string {
  if (rows.length === 0) return '(no rows)';
  return tablesOf(rows).map(renderTable).join('\n');
}

function renderTable({ head, aligns, lines }: TextTable): string {
  const table = new Table({ head: [...head], colAligns: [...aligns], style: { head: [], border: [] } });
  for (const line of lines) table.push([...line]);
  return table.toString();
}

/** The checks, one a line. */
export function renderChecks(checks: readonly Check[]): string {
  return checks
    .map((check) => `${check.ok ? 'ok    ' : 'MISSED'}  ${check.name}: ${reached(check)} (aim ${check.aim})`)
    .join('\n');
}

/** What a check found, with its unit. */
export function reached({ value, unit }: Check): string {
  return `${format(value)} ${unit}`;
}

function format(value: Cell | undefined): string {
  if (typeof value === 'object') return value.map(format).join(' ');
  if (typeof value !== 'number') return value ?? '';
  // Nothing was measured.
  if (Number.isNaN(value)) return '';
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en');
  return value.toFixed(2);
}
