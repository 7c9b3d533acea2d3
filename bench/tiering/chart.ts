import { BarChart, type BarSeriesOption } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { median } from '../lib/alternate.js';
import { byEpoch } from './figures.js';
import type { Outcome, Seen } from './rounds.js';
import { EPOCHS, type Phase } from './run.js';

use([BarChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

const WIDTH = 1080;
const TOP = 50;
const BAR = 30;
/** Above the bars of a case its title stands, below them their scale. */
const TITLE = 34;
const SCALE = 36;

const INK = '#1f2933';
const FAINT = '#7b8794';
const LINES = '#e4e7eb';
const COPY = '#d9822b';
const EPOCH_COLORS = ['#334e68', '#627d98', '#829ab1'];

/** A quantity that is drawn, in a column of its own. */
interface Quantity {
  readonly title: string;
  readonly left: number;
  readonly width: number;
  readonly of: (phase: Phase) => number;
  readonly write: (value: number) => string;
}

const QUANTITIES: readonly Quantity[] = [
  {
    title: 'seconds',
    left: 270,
    width: 360,
    of: ({ seconds }) => seconds,
    write: (value) => value.toFixed(1),
  },
  {
    title: 'MB from the source',
    left: 690,
    width: 360,
    of: ({ sourceBytes }) => sourceBytes / 1e6,
    write: (value) => value.toFixed(0),
  },
];

/**
 * How long each setup took, epoch by epoch, and beside it how much it read from the source: a row of charts a
 * case. Setups that do not run all epochs are left out.
 */
export function renderChart(seen: readonly Seen[]): string {
  const drawn = seen.map(({ which, outcomes }) => ({
    which,
    outcomes: outcomes.filter(({ setup }) => setup.epochs === undefined),
  }));
  const bars = drawn[0]?.outcomes.length ?? 0;
  const rowHeight = TITLE + bars * BAR + SCALE;
  const height = TOP + drawn.length * rowHeight;
  const panels = drawn.flatMap(({ which, outcomes }, row) =>
    QUANTITIES.map((quantity, column) => ({
      quantity,
      outcomes,
      index: row * QUANTITIES.length + column,
      top: TOP + row * rowHeight + TITLE,
      title: `${which.name}: ${quantity.title}`,
      named: column === 0,
    })),
  );
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: 'system-ui, -apple-system, sans-serif' },
    legend: { top: 12, left: 16, itemWidth: 12, itemHeight: 12, textStyle: { color: INK } },
    title: panels.map(({ title, top, quantity }) => ({
      text: title,
      top: top - TITLE + 6,
      left: quantity.left,
      textStyle: { color: INK, fontSize: 13, fontWeight: 'bold' },
    })),
    grid: panels.map(({ top, quantity: { left, width } }) => ({ left, width, top, height: bars * BAR })),
    xAxis: panels.map(({ index }) => ({
      gridIndex: index,
      type: 'value',
      axisLabel: { color: FAINT },
      splitLine: { lineStyle: { color: LINES } },
    })),
    yAxis: panels.map(({ index, outcomes, named, quantity: { of, write } }) => ({
      gridIndex: index,
      type: 'category',
      inverse: true,
      data: outcomes.map(
        (outcome) => `${named ? `${outcome.setup.name}: ` : ''}${write(sum(partsOf(outcome, of)))}`,
      ),
      axisTick: { show: false },
      axisLine: { show: false },
      axisLabel: { color: INK, fontSize: 12, interval: 0 },
    })),
    series: panels.flatMap(({ outcomes, quantity, index }) => seriesOf(outcomes, quantity, index)),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

/** A bar a setup: filling the tier ahead, then the epochs. */
function seriesOf(outcomes: readonly Outcome[], { of, write }: Quantity, panel: number): BarSeriesOption[] {
  const bars = outcomes.map((outcome) => partsOf(outcome, of));
  const longest = Math.max(...bars.map(sum));
  const names = ['copy', ...Array.from({ length: EPOCHS }, (_, epoch) => `epoch ${epoch + 1}`)];
  return names.map((name, part) => ({
    type: 'bar',
    name,
    stack: `panel ${panel}`,
    xAxisIndex: panel,
    yAxisIndex: panel,
    barWidth: BAR - 10,
    itemStyle: { color: [COPY, ...EPOCH_COLORS][part] ?? COPY },
    label: {
      show: true,
      color: '#ffffff',
      fontSize: 11,
      // What is too short for its figure goes without.
      formatter: ({ value }) => (Number(value) > longest / 12 ? write(Number(value)) : ''),
    },
    data: bars.map((parts) => parts[part] ?? 0),
  }));
}

/** Filling the tier ahead (0 if nothing was), then the epochs. */
function partsOf({ runs }: Outcome, of: Quantity['of']): number[] {
  const copying = runs.flatMap((run) => run.copying ?? []);
  return [copying.length === 0 ? 0 : median(copying.map(of)), ...byEpoch(runs, of)];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
