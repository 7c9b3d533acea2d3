/**
 * What the packages of this repository share and users must not build on: it may change with any release.
 */
export { assertTrusted } from './client/socket-trust.js';
export { listenPrivately } from './server/socket-path.js';
