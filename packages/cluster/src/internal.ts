/** Internals that this repository's packages share. Not for users: they may change with any release. */
export { OnePeerDriver, type OnePeerOptions } from './peers/one-peer.js';
export { RendezvousHomes } from './homes/rendezvous.js';
export type { Listener, Transport } from './serving/transport.js';
