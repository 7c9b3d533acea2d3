import { BarChart, type BarSeriesOption } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { init, use, type ECharts } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';

use([BarChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

/** A part that each bar is divided into. */
export interface BarPart {
  readonly name: string;
  /** A CSS color, such as `#d9822b`. */
  readonly color: string;
  /** Its value in each bar, in the order of the labels. */
  readonly values: readonly number[];
}

/** Bars below each other, each with a label on its left. */
export interface Bars {
  readonly labels: readonly string[];
  readonly parts: readonly BarPart[];
  /** The unit of the values, such as `hours`, written at the end of the axis. */
  readonly unit: string;
  /** Pixels. */
  readonly width: number;
  /** Pixels reserved for the labels. */
  readonly labelWidth: number;
  /** A title above the bars, with a legend. Default: neither, for pages that have both as text. */
  readonly title?: string | undefined;
  /**
   * The color of text. Default: `currentColor`, that of the surrounding text, on the background of the page.
   * If it is given, the background is white.
   */
  readonly ink?: string | undefined;
}

const BAR = 28;
const TITLE = 76;
const AXIS = 50;
const MARGIN = 30;
const FAINT = '#7b8794';

/**
 * Draws bars that are divided into parts. Labels and names are escaped as text.
 * @returns A whole SVG document, which can be embedded in a page as it is.
 */
export function renderBars({ labels, parts, unit, width, labelWidth, title, ink }: Bars): string {
  const top = title === undefined ? 4 : TITLE;
  const color = ink ?? 'currentColor';
  const height = top + labels.length * BAR + AXIS;
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  chart.setOption({
    animation: false,
    backgroundColor: ink === undefined ? 'transparent' : '#ffffff',
    textStyle: { fontFamily: 'system-ui, -apple-system, sans-serif' },
    ...(title !== undefined && {
      title: { text: title, left: 16, top: 10, textStyle: { color, fontSize: 14 } },
      legend: { top: 38, left: 16, itemWidth: 12, itemHeight: 12, textStyle: { color } },
    }),
    grid: { left: labelWidth, width: width - labelWidth - MARGIN, top, height: labels.length * BAR },
    xAxis: {
      type: 'value',
      name: unit,
      nameLocation: 'middle',
      nameGap: 26,
      nameTextStyle: { color: FAINT },
      axisLabel: { color: FAINT, hideOverlap: true },
      splitLine: { lineStyle: { color: FAINT, opacity: 0.3 } },
    },
    yAxis: {
      type: 'category',
      inverse: true,
      data: [...labels],
      axisTick: { show: false },
      axisLabel: { color, interval: 0 },
    },
    series: parts.map(seriesOf),
  });
  return documentOf(chart);
}

function seriesOf({ name, color, values }: BarPart): BarSeriesOption {
  return {
    type: 'bar',
    name,
    stack: 'all',
    silent: true,
    barWidth: BAR - 10,
    itemStyle: { color },
    data: [...values],
  };
}

/**
 * ECharts' marks for hovering. It numbers them anew in each chart of a process; without them, the same chart
 * gives the same document. Text cannot look like them, because its quotes are escaped.
 */
const HOVER = / class="zr\d+-cls-\d+"|<style >[^]*?<\/style>/g;

/** The number of the chart in a reference to a clipped part of it. */
const CLIPPED = /\bzr\d+-c(\d+)\b/g;

/** Renders a chart as an SVG document, and disposes of the chart. */
export function documentOf(chart: ECharts): string {
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg.replace(HOVER, '').replace(CLIPPED, 'clipped-$1');
}
