/**
 * A hierarchy under programs that know nothing of it.
 * @module
 */
export { Interposer, type InterposerStats } from './daemon/interposer.js';
export { type SessionOptions } from './daemon/session.js';
export { environmentAt } from './shim-file.js';
