/** Shows results as a table, as CSV and as a chart. @module */
export { renderAccesses, type Accesses } from './accesses.js';
export { renderBars, type BarPart, type Bars } from './bars.js';
export { COLORS, PAGE_STYLE } from './look.js';
export { renderChart } from './report.js';
export { renderCsv } from './report.js';
export { type ReportRow } from './report.js';
export { renderTable, textTable } from './report.js';
