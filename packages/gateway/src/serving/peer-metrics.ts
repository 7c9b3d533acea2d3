import { Gauge, type Registry } from 'prom-client';
import type { PeerFigures } from './options.js';

/** Adds the results of reads from the peers of each bucket. Peers that are gone are left out. */
export function observePeers(
  buckets: ReadonlyMap<string, () => readonly PeerFigures[]>,
  registry: Registry,
): void {
  if (buckets.size === 0) return;
  const ofPeer = (name: string, help: string, value: (peer: PeerFigures) => number) =>
    new Gauge({
      name: `tiered_peer_${name}`,
      help,
      labelNames: ['bucket', 'rank'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [bucket, peers] of buckets)
          for (const peer of peers()) this.set({ bucket, rank: String(peer.rank) }, value(peer));
      },
    });
  ofPeer('reads', 'Reads that a peer answered since it is known.', ({ reads }) => reads);
  ofPeer('read_bytes', 'Bytes that it gave.', ({ bytes }) => bytes);
  ofPeer('missed', 'Reads of objects that it does not have.', ({ missed }) => missed);
  ofPeer('failed', 'Reads that failed.', ({ failed }) => failed);
  ofPeer('asked', '1, or 0 while it is left alone.', ({ isAsked }) => (isAsked ? 1 : 0));
}
