/** The table that programs under the shim read. @module */
export { AT_SOURCE, GONE, type Place } from './table/layout.js';
export { TableWriter, type SourceFile, type SourceOwner, type TableOptions } from './table/writer.js';
export { Ring, type Message } from './ring/ring.js';
