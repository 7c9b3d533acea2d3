import { Cluster } from '@tiered/cluster';
import { NatsRegistry } from '@tiered/cluster/nats';
import { SqliteRegistry } from '@tiered/cluster/registry';
import { Hierarchy, Random } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { firstFit, PlacementHandler } from '@tiered/tiering';
import type { NodeOptions, NodeRequest, NodeSaid } from '../node.js';

/** A node of a cluster: joins, and reads as often as it is asked to. Every byte is compared. */
const options = JSON.parse(process.argv[2] ?? '') as NodeOptions;
const { source, registry, tier, quota, ttlMs, deadlineMs, rank, size, host, objects, bytes } = options;

const tell = (said: NodeSaid) => process.send?.(said);

const cluster = await Cluster.join({
  registry: 'path' in registry ? new SqliteRegistry(registry) : new NatsRegistry(registry),
  rank,
  size,
  host,
  token: 'the secret of these nodes',
  ttlMs,
  deadlineMs,
  lateAfterMs: deadlineMs,
});
let hasRegistry = true;
const tellSeen = () => {
  const others = cluster.stats().perPeer.map((peer) => peer.rank);
  tell({ say: 'sees', hasRegistry, others });
};
const tellRegistry = (isThere: boolean) => {
  hasRegistry = isThere;
  tellSeen();
};
cluster.on('members', tellSeen);
cluster.on('registryLost', () => tellRegistry(false));
cluster.on('registryFound', () => tellRegistry(true));
tellSeen();
const hierarchy = new Hierarchy({
  source: cluster.source(new FileSystemDriver({ root: source })),
  tiers: [{ driver: new FileSystemDriver({ root: tier, writable: true }), quota }],
  placement: new PlacementHandler({ policy: cluster.policy(firstFit) }),
});
await hierarchy.open();
await cluster.serve(hierarchy);
tell({ say: 'here' });

/** Reads every object once, in an order of this node's own. */
async function epoch(number: number): Promise<void> {
  for (const i of new Random(rank, number).permutation(objects)) {
    const read = await hierarchy.read(`o${i}`);
    if (Buffer.compare(read, someBytes(bytes, i)) !== 0) throw new Error(`node ${rank}: o${i} is wrong`);
    tell({ say: 'read' });
  }
  await hierarchy.idle();
}

const answers: Record<NodeRequest['ask'], (request: NodeRequest) => Promise<void>> = {
  gather: async () => {
    const isTogether = await cluster.gathered({ timeoutMs: 30_000 });
    tell({ say: 'done', stats: cluster.stats(), isTogether });
  },
  epoch: async ({ number = 0 }) => {
    await epoch(number);
    tell({ say: 'done', stats: cluster.stats(), isTogether: true });
  },
  close: async () => {
    await hierarchy.close();
    await cluster.close();
    tell({ say: 'done', stats: cluster.stats(), isTogether: false });
    process.disconnect();
  },
};

process.on('message', (request: NodeRequest) => void answers[request.ask](request));
