import { LineChart, type LineSeriesOption } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { WatchedConsumer } from './prisma.js';
import { meansOverTime, shareOfTime } from './steps.js';

use([LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

const [WIDTH, TOP, ROW, PANEL] = [1080, 40, 320, 220];
const TITLE = 34;
const COLUMNS = [
  { left: 70, width: 380 },
  { left: 540, width: 500 },
];

const INK = '#1f2933';
const FAINT = '#7b8794';
const LINES = '#e4e7eb';
const COLORS = ['#9fb3c8', '#486581', '#d9822b', '#b44d12', '#2f855a'];

/** Windows of the longest run; within one, the mean is drawn. */
const WINDOWS = 150;

type Run = WatchedConsumer['runs'][number];

/**
 * A row of charts a consumer, a line a setting: which part of the time at most so many reads were under way
 * (as figure 5.23 of PRISMA's thesis), and how much of the buffer was in use (as figure 5.24).
 */
export function renderChart(consumers: readonly WatchedConsumer[]): string {
  const panels = consumers.flatMap(({ name, runs }, row) => [
    { ...panelOf(row, 0), title: `${name}: % of time with up to N reads`, axis: 'reads under way, N' },
    {
      ...panelOf(row, 1),
      title: `${name}: % of the buffer in use`,
      axis: `seconds (means over ${(windowOf(runs) / 1000).toFixed(2)} s)`,
    },
  ]);
  const height = TOP + consumers.length * ROW;
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: 'system-ui, -apple-system, sans-serif' },
    color: COLORS,
    legend: {
      top: 14,
      left: 64,
      itemGap: 45,
      itemWidth: 18,
      itemHeight: 4,
      icon: 'rect',
      textStyle: { color: INK },
      formatter: (name: string) => name.replace('PRISMA: ', ''),
    },
    title: panels.map(({ title, top, left }) => ({
      text: title,
      top: top - TITLE,
      left: left - 6,
      textStyle: { color: INK, fontSize: 13, fontWeight: 'bold' },
    })),
    grid: panels.map(({ left, width, top }) => ({ left, width, top, height: PANEL })),
    xAxis: panels.map(({ index, axis }) => ({
      gridIndex: index,
      type: 'value',
      min: 0,
      max: 'dataMax',
      name: axis,
      nameLocation: 'middle',
      nameGap: 26,
      nameTextStyle: { color: FAINT },
      axisLabel: { color: FAINT, showMaxLabel: false },
      splitLine: { show: false },
    })),
    yAxis: panels.map(({ index }) => ({
      gridIndex: index,
      type: 'value',
      min: 0,
      max: 100,
      axisLabel: { color: FAINT },
      splitLine: { lineStyle: { color: LINES } },
    })),
    series: consumers.flatMap(({ runs }, row) => [
      ...runs.map((run, i) => lineOf(run.setting, i, panelOf(row, 0).index, concurrencyOf(run), 'end')),
      ...runs.map((run, i) => lineOf(run.setting, i, panelOf(row, 1).index, usageOf(run, windowOf(runs)))),
    ]),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

function panelOf(row: number, column: 0 | 1) {
  const { left = 0, width = 0 } = COLUMNS[column] ?? {};
  return { index: row * COLUMNS.length + column, top: TOP + row * ROW + TITLE, left, width };
}

type Points = readonly (readonly [number, number])[];

function lineOf(
  name: string,
  place: number,
  panel: number,
  points: Points,
  step: 'end' | false = false,
): LineSeriesOption {
  return {
    type: 'line',
    name,
    xAxisIndex: panel,
    yAxisIndex: panel,
    step,
    silent: true,
    showSymbol: false,
    // The first is drawn below the others, and is seen where they hide it.
    lineStyle: { width: place === 0 ? 5 : 1.8 },
    data: points.map((point) => [...point]),
  };
}

function concurrencyOf({ reads, seconds }: Run): Points {
  return shareOfTime(reads, seconds * 1000).map((share, n) => [n, share * 100]);
}

function usageOf({ occupancy, seconds }: Run, windowMs: number): Points {
  const means = meansOverTime(occupancy, seconds * 1000, windowMs);
  return means.map((mean, window) => [((window + 0.5) * windowMs) / 1000, mean * 100]);
}

function windowOf(runs: readonly Run[]): number {
  return (Math.max(...runs.map(({ seconds }) => seconds)) * 1000) / WINDOWS;
}
