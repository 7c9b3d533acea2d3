/**
 * What the packages of this repository share and users must not build on: it may change with any release.
 */
export { OnePeerDriver, type OnePeerOptions } from './peers/one-peer.js';
export { RendezvousHomes } from './homes/rendezvous.js';
export type { Listener, Transport } from './serving/transport.js';
