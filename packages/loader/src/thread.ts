/** What the threads of loaders run. @module */
export { serveLoader } from './threaded/serve-loader.js';
export { serveBatches } from './workers/serve.js';
