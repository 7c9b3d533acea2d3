import { BarChart, type BarSeriesOption } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { duration, labelOf, placesOf, remarkOf, type ReportRow } from './report.js';

use([BarChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

const WIDTH = 960;
const BAR = 28;
const TOP = 76;
const LEFT = 330;
const INK = '#1f2933';
const FAINT = '#7b8794';
const COLORS = ['#d9822b', '#829ab1', '#334e68', '#627d98', '#9fb3c8', '#486581'];
const NO_IO = 'no I/O';

/**
 * Draws a bar for each row, as Fig. 7: as long as the execution time, and divided like the time of fetching
 * over the places that samples were fetched from.
 * @returns A whole SVG document.
 */
export function renderChart(title: string, rows: readonly ReportRow[]): string {
  const drawn = rows.filter(({ result }) => result.refused === undefined);
  const places = placesOf(drawn);
  const height = TOP + drawn.length * BAR + 50;
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    color: COLORS,
    textStyle: { fontFamily: 'system-ui, -apple-system, sans-serif' },
    title: { text: title, left: 16, top: 10, textStyle: { color: INK, fontSize: 14 } },
    legend: { top: 38, left: 16, itemWidth: 12, itemHeight: 12, textStyle: { color: INK } },
    grid: { left: LEFT, width: WIDTH - LEFT - 30, top: TOP, height: drawn.length * BAR },
    xAxis: { type: 'value', name: 'hours', axisLabel: { color: FAINT } },
    yAxis: {
      type: 'category',
      inverse: true,
      data: drawn.map(nameOf),
      axisTick: { show: false },
      axisLabel: { color: INK, interval: 0 },
    },
    series: [...places, NO_IO].map((place) => seriesOf(place, drawn)),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

function nameOf(row: ReportRow): string {
  const star = remarkOf(row.result) === '' ? '' : ' *';
  return `${labelOf(row)}${star}: ${duration(row.result.seconds)}`;
}

function seriesOf(place: string, rows: readonly ReportRow[]): BarSeriesOption {
  return {
    type: 'bar',
    name: place,
    stack: 'time',
    barWidth: BAR - 10,
    ...(place === NO_IO && { itemStyle: { color: '#e4e7eb' } }),
    data: rows.map(({ result: { seconds, sources } }) => {
      const total = sources.reduce((sum, source) => sum + source.seconds, 0);
      if (total === 0) return place === NO_IO ? seconds / 3600 : 0;
      const found = sources.find(({ from }) => from === place);
      return ((found?.seconds ?? 0) / total) * (seconds / 3600);
    }),
  };
}
