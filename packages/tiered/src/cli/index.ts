/** The command `tiered` as a function. @module */
export { runTiered } from './run.js';
