import Table from 'cli-table3';
import type { SimulationResult } from '../engine/outcome.js';
import { renderBars } from './bars.js';

/** A result, and its setup if there are several. */
export interface ReportRow {
  /** Such as `ram 10 GB, ssd 20 GB`; empty for the original setup. */
  readonly setup: string;
  readonly result: SimulationResult;
}

/** A row's name in tables and charts. */
function labelOf({ setup, result }: ReportRow): string {
  return setup === '' ? result.strategy : `${setup}: ${result.strategy}`;
}

/** A duration in the unit that suits it: `2.75 h`, `12.3 min` or `5.8 s`. */
function duration(seconds: number): string {
  if (seconds >= 3600) return `${(seconds / 3600).toFixed(2)} h`;
  return seconds >= 60 ? `${(seconds / 60).toFixed(2)} min` : `${seconds.toFixed(2)} s`;
}

/** Says why a policy cannot simply be compared with the others; empty if it can. */
function remarkOf({ refused, notCovered, fullRandomization }: SimulationResult): string {
  if (refused !== undefined) return `cannot run: ${refused}`;
  if (notCovered > 0)
    return `does not read the whole dataset: ${percent(notCovered)} of accesses not covered`;
  return fullRandomization ? '' : 'changes the order: no full randomization';
}

/** `12.3 %`. */
function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** All places that bytes came from, in order. */
function placesOf(rows: readonly ReportRow[]): string[] {
  return [...new Set(rows.flatMap(({ result }) => result.sources.map(({ from }) => from)))];
}

/**
 * Renders a table for a terminal.
 * @param left The columns that hold text, by their number. The others hold figures.
 */
export function textTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  left: readonly number[] = [0],
): string {
  const table = new Table({
    head: [...head],
    colAligns: head.map((_, column) => (left.includes(column) ? 'left' : 'right')),
    style: { head: [], border: [] },
  });
  table.push(...rows.map((row) => [...row]));
  return table.toString();
}

/** Renders the rows for a terminal: times, and the share of bytes by source. */
export function renderTable(rows: readonly ReportRow[]): string {
  const places = placesOf(rows);
  const head = ['policy', 'time', 'stall', 'staging', ...places, 'remark'];
  const lines = rows.map((row) => {
    const { refused, seconds, stallSeconds, stagingSeconds, sources } = row.result;
    const times = [seconds, stallSeconds, stagingSeconds].map((time) =>
      refused === undefined ? duration(time) : '',
    );
    const shares = places.map((place) => {
      const found = sources.find(({ from }) => from === place);
      return found === undefined ? '' : percent(found.share);
    });
    return [labelOf(row), ...times, ...shares, remarkOf(row.result)];
  });
  return textTable(head, lines, [0, head.length - 1]);
}

/**
 * Renders the rows as CSV (RFC 4180), with a header line. Times are in seconds, shares of bytes from 0 to 1.
 */
export function renderCsv(rows: readonly ReportRow[]): string {
  const places = placesOf(rows);
  const shares = places.map((place) => `share ${place}`);
  const head = ['setup', 'policy', 'seconds', 'stall', 'staging', ...shares, 'not covered', 'remark'];
  const lines = rows.map(({ setup, result }) => [
    setup,
    result.strategy,
    result.seconds,
    result.stallSeconds,
    result.stagingSeconds,
    ...places.map((place) => result.sources.find(({ from }) => from === place)?.share ?? 0),
    result.notCovered,
    remarkOf(result),
  ]);
  return [head, ...lines].map((line) => `${line.map(cell).join(',')}\r\n`).join('');
}

function cell(value: string | number): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const WIDTH = 960;
const LEFT = 330;
const INK = '#1f2933';
const COLORS = ['#d9822b', '#829ab1', '#334e68', '#627d98', '#9fb3c8', '#486581'];
const NO_IO = 'no I/O';

/**
 * Draws a bar for each row, as Fig. 7: as long as the execution time, and divided like the fetch time over
 * the places that samples were fetched from.
 * @returns A whole SVG document.
 */
export function renderChart(title: string, rows: readonly ReportRow[]): string {
  const drawn = rows.filter(({ result }) => result.refused === undefined);
  return renderBars({
    title,
    ink: INK,
    unit: 'hours',
    width: WIDTH,
    labelWidth: LEFT,
    labels: drawn.map(nameOf),
    parts: [...placesOf(drawn), NO_IO].map((place, i) => ({
      name: place,
      color: place === NO_IO ? '#e4e7eb' : (COLORS[i % COLORS.length] ?? INK),
      values: drawn.map((row) => hoursOf(place, row)),
    })),
  });
}

function nameOf(row: ReportRow): string {
  const star = remarkOf(row.result) === '' ? '' : ' *';
  return `${labelOf(row)}${star}: ${duration(row.result.seconds)}`;
}

function hoursOf(place: string, { result: { seconds, sources } }: ReportRow): number {
  const total = sources.reduce((sum, source) => sum + source.seconds, 0);
  if (total === 0) return place === NO_IO ? seconds / 3600 : 0;
  const found = sources.find(({ from }) => from === place);
  return ((found?.seconds ?? 0) / total) * (seconds / 3600);
}
