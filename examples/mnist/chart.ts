import { BarChart, type BarSeriesOption } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { megabytes, seconds } from './format.js';
import type { Outcome } from './run.js';
import type { Place } from './setups.js';
import { totalSeconds } from './summary.js';

use([BarChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

const WIDTH = 1080;
const HEIGHT = 730;
const INK = '#1f2933';
const FAINT = '#7b8794';
const LINES = '#e4e7eb';
const COPY = '#d9822b';
const EPOCHS = ['#334e68', '#627d98', '#829ab1'];
const PLACES: Readonly<Record<Place, string>> = { RAM: '#2f9e77', disk: '#3d7cbf', source: '#d9822b' };

/** Two charts in one picture: how long everything took, and where the bytes came from. */
export function renderChart(outcomes: readonly Outcome[]): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height: HEIGHT });
  const times = timeSeries(outcomes);
  const columns = columnsOf(outcomes);
  const title = { left: 16, textStyle: { color: INK, fontSize: 15, fontWeight: 'bold' } as const };
  const legend = { right: 16, itemWidth: 12, itemHeight: 12, textStyle: { color: INK } };
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: 'system-ui, -apple-system, sans-serif' },
    title: [
      { ...title, top: 8, text: 'Seconds to the trained model' },
      { ...title, top: 370, text: 'Megabytes read, by where they came from' },
    ],
    legend: [
      { ...legend, top: 10, data: times.map(({ name }) => String(name)) },
      { ...legend, top: 372, data: Object.keys(PLACES) },
    ],
    grid: [
      { left: 180, right: 40, top: 50, height: 260 },
      { left: 70, right: 40, top: 420, height: 250 },
    ],
    xAxis: [
      {
        gridIndex: 0,
        type: 'value',
        axisLabel: { color: FAINT },
        splitLine: { lineStyle: { color: LINES } },
      },
      {
        gridIndex: 1,
        type: 'category',
        data: columns.map(({ label }) => label),
        axisTick: { show: false },
        axisLine: { lineStyle: { color: LINES } },
        axisLabel: { color: INK, interval: 0, lineHeight: 18 },
      },
    ],
    yAxis: [
      {
        gridIndex: 0,
        type: 'category',
        inverse: true,
        data: outcomes.map((outcome) => `${outcome.setup.name}\n${seconds(totalSeconds(outcome))} s`),
        axisTick: { show: false },
        axisLine: { show: false },
        axisLabel: { color: INK, fontSize: 13, lineHeight: 18 },
      },
      {
        gridIndex: 1,
        type: 'value',
        axisLabel: { color: FAINT },
        splitLine: { lineStyle: { color: LINES } },
      },
    ],
    series: [...times, ...byteSeries(columns)],
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

/** A bar a setup: copying, then the epochs. */
function timeSeries(outcomes: readonly Outcome[]): BarSeriesOption[] {
  const parts = [
    { name: 'copy', color: COPY, of: ({ filling }: Outcome) => filling?.seconds },
    ...EPOCHS.map((color, index) => ({
      name: `epoch ${index + 1}`,
      color,
      of: ({ epochs }: Outcome) => epochs[index]?.seconds,
    })),
  ];
  return parts.map(({ name, color, of }) => ({
    type: 'bar',
    name,
    stack: 'time',
    barWidth: 34,
    itemStyle: { color, borderColor: '#ffffff', borderWidth: 1 },
    label: { show: true, color: '#ffffff', formatter: ({ value }) => seconds(Number(value)) },
    data: outcomes.map((outcome) => of(outcome) ?? '-'),
  }));
}

/**
 * A copy or an epoch, with the bytes that were read in it; without bytes it is the gap between two setups.
 */
interface Column {
  readonly label: string;
  readonly bytesFrom?: Readonly<Record<Place, number>>;
}

function columnsOf(outcomes: readonly Outcome[]): Column[] {
  return outcomes.flatMap(({ setup, filling, epochs }, index) => {
    const columns = epochs.map(({ bytesFrom }, epoch) => ({ label: String(epoch + 1), bytesFrom }));
    if (filling !== undefined) columns.unshift({ label: 'copy', bytesFrom: filling.bytesFrom });
    // The setup's name stands below the middle of its group.
    const middle = Math.floor((columns.length - 1) / 2);
    const named = columns.map((column, i) =>
      i === middle ? { ...column, label: `${column.label}\n${setup.name}` } : column,
    );
    return index === 0 ? named : [{ label: '' }, ...named];
  });
}

function byteSeries(columns: readonly Column[]): BarSeriesOption[] {
  return Object.entries(PLACES).map(([place, color]) => ({
    type: 'bar',
    name: place,
    xAxisIndex: 1,
    yAxisIndex: 1,
    stack: 'bytes',
    barWidth: '72%',
    itemStyle: { color, borderColor: '#ffffff', borderWidth: 1 },
    label: { show: true, color: '#ffffff', formatter: '{c}' },
    data: columns.map(({ bytesFrom }) => {
      const bytes = bytesFrom?.[place as Place] ?? 0;
      return bytes === 0 ? '-' : megabytes(bytes);
    }),
  }));
}
