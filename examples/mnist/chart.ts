import { BarChart, type BarSeriesOption } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { megabytes, seconds } from './format.js';
import { COMPUTE, COPY, FAINT, INK, LINES, ON_PLACES, PAPER, PLACES, WAITING } from './palette.js';
import { EPOCHS, type Outcome } from './run.js';
import type { Place } from './setups.js';
import { totalSeconds } from './summary.js';

use([BarChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

/** For pages, and for telephones. */
export const WIDE = 1080;
export const NARROW = 460;

const TIMES_TOP = 76;
const TIMES_HEIGHT = 250;
const BYTES_TITLE = 370;
const BYTES_TOP = 436;
const ROW = 24;
const MARGIN = 195;
const SMALL = 11;
/** A bar shorter than this has no room for its figure. */
const LEAST_LABELLED = 34;

/** Two charts in one picture: how long everything took, and where the bytes came from. */
export function renderChart(outcomes: readonly Outcome[], width: number): string {
  const rows = rowsOf(outcomes);
  const height = BYTES_TOP + rows.length * ROW + 40;
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  const title = { left: 16, textStyle: { color: INK, fontSize: 15, fontWeight: 'bold' } as const };
  const legend = { left: 12, itemWidth: 16, itemHeight: 12, itemGap: 22, textStyle: { color: INK } };
  const right = { left: MARGIN, right: 28 };
  const setupNames = outcomes.map((outcome) => `${outcome.setup.name}\n${seconds(totalSeconds(outcome))} s`);
  chart.setOption({
    animation: false,
    backgroundColor: PAPER,
    textStyle: { fontFamily: 'system-ui, -apple-system, sans-serif' },
    title: [
      { ...title, top: 10, text: 'Seconds to the trained model' },
      { ...title, top: BYTES_TITLE, text: 'Megabytes read, by where they came from' },
    ],
    legend: [
      { ...legend, top: 36, data: ['compute', 'waiting for data', 'copy'] },
      { ...legend, top: BYTES_TITLE + 26, data: Object.keys(PLACES) },
    ],
    grid: [
      { ...right, top: TIMES_TOP, height: TIMES_HEIGHT },
      { ...right, top: BYTES_TOP, height: rows.length * ROW },
    ],
    xAxis: [valueAxis(0), valueAxis(1)],
    yAxis: [
      categoryAxis(0, setupNames),
      categoryAxis(
        1,
        rows.map(({ label }) => label),
      ),
    ],
    series: [...timeSeries(outcomes, width), ...byteSeries(rows, width)],
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

function valueAxis(gridIndex: number) {
  return {
    gridIndex,
    type: 'value',
    splitNumber: 4,
    axisLabel: { color: FAINT },
    splitLine: { lineStyle: { color: LINES } },
  } as const;
}

function categoryAxis(gridIndex: number, data: readonly string[]) {
  return {
    gridIndex,
    type: 'category',
    inverse: true,
    data: [...data],
    axisTick: { show: false },
    axisLine: { show: false },
    axisLabel: { color: INK, fontSize: 12, lineHeight: 17, interval: 0 },
  } as const;
}

/** A bar a setup: copying, then the epochs, each with what the model waited in it at its end. */
function timeSeries(outcomes: readonly Outcome[], width: number): BarSeriesOption[] {
  const scale = Math.max(...outcomes.map(totalSeconds)) / (width - MARGIN - 28);
  const bar = { type: 'bar', stack: 'time', barWidth: 26 } as const;
  // Above the bar, where an epoch begins: its compute and its waiting together have one figure.
  const above = (value: number) => ({
    show: value / scale >= 22,
    position: [1, -14] as [number, number],
    color: INK,
    fontSize: SMALL,
    formatter: value / scale >= LEAST_LABELLED ? `${seconds(value)} s` : seconds(value),
  });
  const copy: BarSeriesOption = {
    ...bar,
    name: 'copy',
    itemStyle: { color: COPY, ...edge, decal: hatching(PAPER) },
    data: outcomes.map(({ filling }) =>
      filling === undefined ? '-' : { value: filling.seconds, label: above(filling.seconds) },
    ),
  };
  // Less than a pixel of waiting would show as a line: it counts as compute.
  const waited = ({ epochs }: Outcome, index: number) => {
    const { stallSeconds = 0 } = epochs[index] ?? {};
    return stallSeconds / scale < 1 ? 0 : stallSeconds;
  };
  const epochs = Array.from({ length: EPOCHS }, (_, index): BarSeriesOption[] => [
    {
      ...bar,
      name: 'compute',
      itemStyle: { color: COMPUTE, ...edge },
      data: outcomes.map((outcome) => {
        const all = outcome.epochs[index]?.seconds ?? 0;
        return { value: Math.max(0, all - waited(outcome, index)), label: above(all) };
      }),
    },
    {
      ...bar,
      name: 'waiting for data',
      itemStyle: { color: WAITING, ...edge, decal: hatching(COMPUTE) },
      data: outcomes.map((outcome) => waited(outcome, index) || '-'),
    },
  ]);
  return [copy, ...epochs.flat()];
}

const edge = { borderColor: PAPER, borderWidth: 1 };

/** The model has nothing to do. */
function hatching(color: string) {
  return { symbol: 'rect', color, dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -Math.PI / 4 };
}

/** A copy or an epoch, with the bytes that were read in it; without bytes, the gap between two setups. */
interface Row {
  readonly label: string;
  readonly bytesFrom?: Readonly<Record<Place, number>>;
}

function rowsOf(outcomes: readonly Outcome[]): Row[] {
  return outcomes.flatMap(({ setup, filling, epochs }, index) => {
    const rows = epochs.map(({ bytesFrom }, epoch) => ({ label: String(epoch + 1), bytesFrom }));
    if (filling !== undefined) rows.unshift({ label: 'copy', bytesFrom: filling.bytesFrom });
    const named = rows.map((row, i) => (i === 0 ? { ...row, label: `${setup.name}  ${row.label}` } : row));
    return index === 0 ? named : [{ label: '' }, ...named];
  });
}

function byteSeries(rows: readonly Row[], width: number): BarSeriesOption[] {
  const largest = Math.max(...rows.map(({ bytesFrom }) => total(bytesFrom)));
  const scale = largest / (width - MARGIN - 28);
  return (['RAM', 'disk', 'source'] as const).map((place) => ({
    type: 'bar',
    name: place,
    xAxisIndex: 1,
    yAxisIndex: 1,
    stack: 'bytes',
    barWidth: 18,
    itemStyle: { color: PLACES[place], ...edge },
    data: rows.map(({ bytesFrom }) => {
      const bytes = bytesFrom?.[place] ?? 0;
      if (bytes === 0) return '-';
      const show = bytes / scale >= LEAST_LABELLED;
      return {
        value: bytes / 1e6,
        label: { show, color: ON_PLACES[place], fontSize: SMALL, formatter: megabytes(bytes) },
      };
    }),
  }));
}

function total(bytesFrom: Readonly<Record<Place, number>> | undefined): number {
  return bytesFrom === undefined ? 0 : bytesFrom.RAM + bytesFrom.disk + bytesFrom.source;
}
