import { BarChart, type BarSeriesOption } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import { init, use, type ECharts } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';

use([BarChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

/** What each bar is divided into. */
export interface BarPart {
  readonly name: string;
  /** A color of CSS, such as `#d9822b`. */
  readonly color: string;
  /** Its value in each bar, in the order of the labels. */
  readonly values: readonly number[];
}

/** Bars below each other, each with a label at its left. */
export interface Bars {
  readonly labels: readonly string[];
  readonly parts: readonly BarPart[];
  /** What the values are, such as `hours`: written at the end of the axis. */
  readonly unit: string;
  /** Pixels. */
  readonly width: number;
  /** Pixels that the labels have. */
  readonly labelWidth: number;
  /** Above the bars, with a legend. Default: neither, as for pages that have both as text. */
  readonly title?: string | undefined;
  /**
   * Of text. Default: `currentColor`, that of the text around it, on the ground of the page. With it, the
   * ground is white.
   */
  readonly ink?: string | undefined;
}

const BAR = 28;
const TITLE = 76;
const AXIS = 50;
const MARGIN = 30;
const FAINT = '#7b8794';

/**
 * Draws bars that are divided into parts. Labels and names are text, whatever is in them.
 * @returns A whole SVG document, which can stand in a page as it is.
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
 * ECharts' marks for a pointer that is over something. It numbers them anew in each chart of a process;
 * without them, the same chart is the same document. Text cannot look like them: there, quotes are escaped.
 */
const HOVER = / class="zr\d+-cls-\d+"|<style >[^]*?<\/style>/g;

/** The number of the chart, where a part of it is clipped. */
const CLIPPED = /\bzr\d+-c(\d+)\b/g;

/** Makes an SVG document of a chart, and ends the chart. */
export function documentOf(chart: ECharts): string {
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg.replace(HOVER, '').replace(CLIPPED, 'clipped-$1');
}
