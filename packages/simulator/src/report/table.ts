import Table from 'cli-table3';
import { duration, labelOf, percent, placesOf, remarkOf, type ReportRow } from './report.js';

/** Renders the rows for a terminal: times, and the share of bytes by source. */
export function renderTable(rows: readonly ReportRow[]): string {
  const places = placesOf(rows);
  const table = new Table({
    head: ['policy', 'time', 'stall', 'staging', ...places, 'remark'],
    colAligns: ['left', 'right', 'right', 'right', ...places.map(() => 'right' as const), 'left'],
    style: { head: [], border: [] },
  });
  for (const row of rows) {
    const { refused, seconds, stallSeconds, stagingSeconds, sources } = row.result;
    const times = [seconds, stallSeconds, stagingSeconds].map((time) =>
      refused === undefined ? duration(time) : '',
    );
    const shares = places.map((place) => {
      const found = sources.find(({ from }) => from === place);
      return found === undefined ? '' : percent(found.share);
    });
    table.push([labelOf(row), ...times, ...shares, remarkOf(row.result)]);
  }
  return table.toString();
}
