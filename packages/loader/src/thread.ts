/** The entry point of loader threads. @module */
export { serveLoader } from './threaded/serve-loader.js';
export { serveBatches } from './workers/serve.js';
