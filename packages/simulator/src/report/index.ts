/** Shows results as a table, as CSV and as a chart. @module */
export { renderAccesses, type Accesses } from './accesses.js';
export { renderBars, type BarPart, type Bars } from './bars.js';
export { COLORS, PAGE_STYLE } from './look.js';
export { renderChart, renderCsv, type ReportRow, renderTable, textTable } from './report.js';
