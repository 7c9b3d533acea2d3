/** The report of a loader as an HTML page with pictures. Needs `@tiered/simulator`. @module */
export { reportPage, type ReportPageOptions } from './page/report-page.js';
