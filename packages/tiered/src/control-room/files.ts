import { PAGE_STYLE } from '@tiered/simulator/report';
import { readFile } from 'node:fs/promises';
import { CHARTS_SCRIPT, ROOM_SCRIPT } from '../browser-files.js';
import { roomPage } from './page.js';

/** Something that a browser may ask for. */
export interface ServedFile {
  readonly type: string;
  readonly body: string | Buffer;
}

const STYLE = `${PAGE_STYLE}
h3 { font-size: 16px; margin: 20px 0 6px; overflow-wrap: anywhere; }
thead th { white-space: nowrap; }
tbody th { min-width: 7em; }
.charts { display: flex; flex-wrap: wrap; gap: 16px; margin: 16px 0 0; }
section .lead { margin: 0 0 8px; }
.chart { background: var(--paper); border: 1px solid var(--lines); border-radius: 8px; padding: 12px 8px; max-width: 100%; }
.chart h4 { font-size: 14px; margin: 0 8px 6px; overflow-wrap: anywhere; }
.lost { color: var(--bad); font-weight: 600; }
form { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: end; margin: 0 0 12px; }
form strong { flex-basis: 100%; }
label { display: flex; flex-direction: column; font-size: 14px; color: var(--faint); }
input, button { font: inherit; padding: 4px 8px; }
input { width: 11em; }
.uplot .u-legend { font-size: 13px; }
`;

const SCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';

/**
 * Everything that the control room serves as it is, by path. No part of it is a secret: what is, comes by
 * `/events`.
 */
export async function roomFiles(allowSet: boolean): Promise<ReadonlyMap<string, ServedFile>> {
  const [plot, plotStyle] = [
    import.meta.resolve('uplot/dist/uPlot.iife.min.js'),
    import.meta.resolve('uplot/dist/uPlot.min.css'),
  ];
  return new Map([
    ['/', { type: 'text/html; charset=utf-8', body: roomPage(allowSet) }],
    ['/room.css', { type: CSS, body: STYLE }],
    ['/room.js', { type: SCRIPT, body: await readFile(ROOM_SCRIPT) }],
    ['/charts.js', { type: SCRIPT, body: await readFile(CHARTS_SCRIPT) }],
    ['/uplot.js', { type: SCRIPT, body: await readFile(new URL(plot)) }],
    ['/uplot.css', { type: CSS, body: await readFile(new URL(plotStyle)) }],
  ]);
}
