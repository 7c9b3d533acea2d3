import type { AccessAnalysis } from '@tiered/prefetch/sampling';
import { BarChart, LineChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { documentOf } from './bars.js';

use([BarChart, LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

/** The input of `renderAccesses`. */
export interface Accesses {
  readonly title: string;
  /** The expected distribution: the line. */
  readonly analysis: AccessAnalysis;
  /** The distribution counted by `accessDistribution`: the bars. */
  readonly counted: ArrayLike<number>;
}

const INK = '#1f2933';
const FAINT = '#7b8794';
const [FEW, MANY] = ['#829ab1', '#d9822b'];

/**
 * Draws the distribution of a worker's reads per sample, as Fig. 2. Samples that it reads more often than the
 * threshold of the analysis have another color. Empty ranges on the left and right are cut off.
 * @returns A whole SVG document.
 */
export function renderAccesses({ title, analysis, counted }: Accesses): string {
  const { distribution, threshold } = analysis;
  const reads = Array.from(distribution, (_, k) => k);
  const seen = reads.filter((k) => (counted[k] ?? 0) > 0 || (distribution[k] ?? 0) >= 0.5);
  const shown = reads.slice(seen[0] ?? 0, (seen.at(-1) ?? 0) + 1);
  const bars = (name: string, color: string, isShown: (k: number) => boolean) => ({
    type: 'bar' as const,
    name,
    stack: 'counted',
    silent: true,
    barWidth: '90%',
    itemStyle: { color },
    data: shown.map((k) => (isShown(k) ? (counted[k] ?? 0) : 0)),
  });
  const axis = {
    nameLocation: 'middle' as const,
    nameTextStyle: { color: FAINT },
    axisLabel: { color: FAINT },
  };
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 720, height: 360 });
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: 'system-ui, -apple-system, sans-serif' },
    title: { text: title, left: 16, top: 10, textStyle: { color: INK, fontSize: 14 } },
    legend: { top: 38, left: 16, itemGap: 40, itemWidth: 12, itemHeight: 12, textStyle: { color: INK } },
    grid: { left: 70, right: 30, top: 76, bottom: 50 },
    xAxis: { type: 'category', data: shown, name: 'reads of a sample by the worker', nameGap: 26, ...axis },
    yAxis: {
      type: 'value',
      name: 'samples',
      nameGap: 45,
      ...axis,
      splitLine: { lineStyle: { opacity: 0.4 } },
    },
    series: [
      bars(`up to ${threshold - 1} reads`, FEW, (k) => k < threshold),
      bars(`${threshold} and more`, MANY, (k) => k >= threshold),
      {
        type: 'line',
        name: 'expected',
        silent: true,
        showSymbol: false,
        lineStyle: { color: INK, width: 1.5 },
        itemStyle: { color: INK },
        data: shown.map((k) => distribution[k] ?? 0),
      },
    ],
  });
  return documentOf(chart);
}
