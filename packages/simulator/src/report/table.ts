import Table from 'cli-table3';
import { duration, labelOf, percent, placesOf, remarkOf, type ReportRow } from './report.js';

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
