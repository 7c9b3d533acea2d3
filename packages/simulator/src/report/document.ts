import type { ECharts } from 'echarts/core';

/**
 * What ECharts writes for a pointer that is over something. It numbers it anew in each chart of a process;
 * without it, the same chart is the same document. Text cannot look like it: there, quotes are escaped.
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
