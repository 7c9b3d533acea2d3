/** Internals that this repository's packages share. Not for users: they may change with any release. */
export { assertTrusted } from './client/socket-trust.js';
export { listenPrivately } from './server/socket-path.js';
