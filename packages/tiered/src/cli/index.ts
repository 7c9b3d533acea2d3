export { runTiered } from './run.js';
