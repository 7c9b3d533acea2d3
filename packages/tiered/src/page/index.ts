/** The report of a loader as an HTML page with pictures. @module */
export { reportPage, type ReportPageOptions } from './report-page.js';
