export { adviceOn } from './advice.js';
export { bench } from './bench.js';
export { type BenchResult } from './result.js';
