/**
 * What the packages of this repository share and users must not build on: it may change with any release.
 */
export { Shares, type SharesOptions } from './sampling/shares.js';
export { assertTrusted } from './sharing/client/socket-trust.js';
export { listenPrivately } from './sharing/server/socket-path.js';
export { ReusedMemory } from './staging/reused-memory.js';
