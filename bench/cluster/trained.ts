import { rm } from 'node:fs/promises';
import path from 'node:path';
import { bytesOf } from '../gateway/datasets.js';
import { nginxCache } from '../gateway/nginx.js';
import type { Source } from '../gateway/source.js';
import { startOne, type Started } from '../gateway/started.js';
import { treeMs } from '../lib/process-tree.js';
import { quotaOf, type Case } from './cases.js';
import type { Node, NodeEpoch, Sharing } from './node.js';

/** A way to get the data to the nodes. */
export interface Way {
  readonly name: string;
  readonly sharing: Sharing;
  /** Whether nodes have RAM for copies. */
  readonly keeps: boolean;
  /** Whether nginx stands between them and the source, with as much room as they have together. */
  readonly isProxied?: boolean;
}

export const ALONE: Way = { name: 'each by itself', sharing: 'alone', keeps: true };
export const SOURCE_ONLY: Way = { name: 'source only', sharing: 'alone', keeps: false };
export const RENDEZVOUS: Way = { name: 'rendezvous', sharing: 'rendezvous', keeps: true };
export const BY_PLAN: Way = { name: 'by plan', sharing: 'by plan', keeps: true };
export const NGINX: Way = { name: 'nginx, shared cache', sharing: 'alone', keeps: false, isProxied: true };

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

/** Trains a case in one way. */
export async function train(
  { scratch, source, nodes }: Training,
  one: Case,
  way: Way,
  computeBytesPerSecond: number | null,
): Promise<ClusterEpoch[]> {
  const directory = path.join(scratch, `run-${run++}`);
  const { dataset, epochs } = one;
  const quota = way.keeps ? quotaOf(one) : 0;
  const proxyQuota = Math.min(one.nodes * quotaOf(one), bytesOf(dataset));
  const proxy =
    way.isProxied === true
      ? await startOne(nginxCache(1), source, { dataset, directory, quota: proxyQuota })
      : undefined;
  const endpoint = proxy?.endpoint ?? (await source.counts()).endpoint;
  const registry = path.join(scratch, 'registry', `run-${run}.db`);
  const some = nodes.slice(0, one.nodes);
  try {
    await Promise.all(
      some.map((node, rank) =>
        node.open({
          ...{ dataset, endpoint, rank, nodes: one.nodes, epochs },
          ...{ sharing: way.sharing, quota, registry },
        }),
      ),
    );
    const compute = computeBytesPerSecond === null ? null : computeBytesPerSecond / one.nodes;
    const seen: ClusterEpoch[] = [];
    for (let epoch = 0; epoch < epochs; epoch++)
      seen.push(await epochOf(some, source, epoch, compute, proxy));
    await Promise.all(some.map((node) => node.close()));
    return seen;
  } finally {
    await proxy?.server.close();
    await rm(directory, { recursive: true, force: true });
  }
}

async function epochOf(
  nodes: readonly Node[],
  source: Source,
  epoch: number,
  computeBytesPerSecond: number | null,
  proxy: Started | undefined,
): Promise<ClusterEpoch> {
  const proxyMs = () => (proxy === undefined ? 0 : treeMs(proxy.server.pid));
  const before = { bytes: (await source.counts()).bytes, proxyMs: proxyMs() };
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
    cpuSeconds: sum(({ cpuSeconds }) => cpuSeconds) + (proxyMs() - before.proxyMs) / 1000,
  };
}
