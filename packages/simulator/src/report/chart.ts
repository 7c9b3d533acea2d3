import { renderBars } from './bars.js';
import { duration, labelOf, placesOf, remarkOf, type ReportRow } from './report.js';

const WIDTH = 960;
const LEFT = 330;
const INK = '#1f2933';
const COLORS = ['#d9822b', '#829ab1', '#334e68', '#627d98', '#9fb3c8', '#486581'];
const NO_IO = 'no I/O';

/**
 * Draws a bar for each row, as Fig. 7: as long as the execution time, and divided like the time of fetching
 * over the places that samples were fetched from.
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
