import { rm } from 'node:fs/promises';
import path from 'node:path';
import { bytesOf } from '../gateway/datasets.js';
import type { Source } from '../gateway/source.js';
import { treeMs } from '../lib/process-tree.js';
import { quotaOf, type Case } from './cases.js';
import type { Node, NodeEpoch, Sharing } from './node.js';
import { SERVERS, type SharedServer } from './servers.js';

/** A way to get the data to the nodes. */
export interface Way {
  readonly name: string;
  readonly sharing: Sharing;
  /** Whether nodes have RAM for copies. */
  readonly keeps: boolean;
  /** A server between them and the source, with as much room as they have together. */
  readonly server?: 'nginx' | 'redis';
}

export const ALONE: Way = { name: 'each by itself', sharing: 'alone', keeps: true };
export const SOURCE_ONLY: Way = { name: 'source only', sharing: 'alone', keeps: false };
export const RENDEZVOUS: Way = { name: 'rendezvous', sharing: 'rendezvous', keeps: true };
export const BY_PLAN: Way = { name: 'by plan', sharing: 'by plan', keeps: true };
export const NGINX: Way = { name: 'nginx, shared cache', sharing: 'alone', keeps: false, server: 'nginx' };
export const REDIS: Way = { name: 'Redis tier', sharing: 'alone', keeps: false, server: 'redis' };

/** An epoch of all nodes. */
export interface ClusterEpoch {
  /** Until the last node was done. */
  readonly seconds: number;
  /** Of the node that waited longest. */
  readonly stallSeconds: number;
  readonly sourceBytes: number;
  readonly bytes: number;
  readonly peerBytes: number;
  readonly inVain: number;
  readonly late: number;
  readonly cpuSeconds: number;
}

/** What trainings run on. */
export interface Training {
  readonly scratch: string;
  readonly source: Source;
  /** As many as the largest training needs, at least. */
  readonly nodes: readonly Node[];
}

let run = 0;

/**
 * Trains a case in one way.
 * @param then Does something else with the nodes before they are closed.
 */
export async function train(
  { scratch, source, nodes }: Training,
  one: Case,
  way: Way,
  computeBytesPerSecond: number | null,
  then?: (nodes: readonly Node[]) => Promise<void>,
): Promise<ClusterEpoch[]> {
  const directory = path.join(scratch, `run-${run++}`);
  const { dataset, epochs } = one;
  const quota = way.keeps ? quotaOf(one) : 0;
  const shared = Math.min(one.nodes * quotaOf(one), bytesOf(dataset));
  const server = await SERVERS[way.server ?? 'none'](source, { dataset, directory, quota: shared });
  const { endpoint = (await source.counts()).endpoint, redis } = server;
  const registry = path.join(scratch, 'registry', `run-${run}.db`);
  const some = nodes.slice(0, one.nodes);
  try {
    await Promise.all(
      some.map((node, rank) =>
        node.open({
          ...{ dataset, endpoint, rank, nodes: one.nodes, epochs },
          ...{ sharing: way.sharing, quota, registry, redis },
        }),
      ),
    );
    const compute = computeBytesPerSecond === null ? null : computeBytesPerSecond / one.nodes;
    const seen: ClusterEpoch[] = [];
    for (let epoch = 0; epoch < epochs; epoch++)
      seen.push(await epochOf(some, source, epoch, compute, server));
    await then?.(some);
    await Promise.all(some.map((node) => node.close()));
    return seen;
  } finally {
    await server.close();
    await rm(directory, { recursive: true, force: true });
  }
}

async function epochOf(
  nodes: readonly Node[],
  source: Source,
  epoch: number,
  computeBytesPerSecond: number | null,
  server: SharedServer,
): Promise<ClusterEpoch> {
  const serverMs = () => (server.pid === undefined ? 0 : treeMs(server.pid));
  const before = { bytes: (await source.counts()).bytes, serverMs: serverMs() };
  const seen = await Promise.all(nodes.map((node) => node.read({ epoch, computeBytesPerSecond })));
  await Promise.all(nodes.map((node) => node.idle()));
  const sum = (of: (one: NodeEpoch) => number) => seen.reduce((all, one) => all + of(one), 0);
  return {
    seconds: Math.max(...seen.map(({ seconds }) => seconds)),
    stallSeconds: Math.max(...seen.map(({ stallSeconds }) => stallSeconds)),
    sourceBytes: (await source.counts()).bytes - before.bytes,
    bytes: sum(({ bytes }) => bytes),
    peerBytes: sum(({ peerBytes }) => peerBytes),
    inVain: sum(({ inVain }) => inVain),
    late: sum(({ late }) => late),
    cpuSeconds: sum(({ cpuSeconds }) => cpuSeconds) + (serverMs() - before.serverMs) / 1000,
  };
}
