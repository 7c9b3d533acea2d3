import { placesOf, remarkOf, type ReportRow } from './report.js';

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
