/** Samples in lines of text: JSON lines and CSV. @module */
export { csv, type CsvOptions, type CsvRow } from './csv.js';
export { jsonLines, type JsonLinesOptions } from './json-lines.js';
