/** What the worker threads of a loader run. @module */
export { serveBatches } from './workers/serve.js';
