import { observe, type Metric, type MetricsOptions } from './observe.js';

/** The observed part of a cluster. A `Cluster` of `@tiered/cluster` has it. */
export interface ObservedCluster {
  /** The number of this worker. */
  readonly rank: number;
  /** Called whenever metrics are collected. */
  stats(): ClusterFigures;
}

/** The figures measured for a cluster. All counts only grow. */
export interface ClusterFigures {
  readonly members: number;
  readonly asked: {
    readonly reads: number;
    readonly missed: number;
    readonly changed: number;
    readonly damaged: number;
    readonly failed: number;
  };
  readonly inVain: number;
  readonly preferred: number;
  readonly late: number;
  readonly perPeer: readonly { readonly isAsked: boolean }[];
}

/** Options of `observeCluster`. */
export interface ClusterMetricsOptions extends MetricsOptions {
  /**
   * The attribute `tiered.cluster.name`, such as the name of the training. Default: `cluster`. Workers of one
   * process need different names, or an attribute that tells them apart.
   */
  readonly name?: string | undefined;
}

/** The metrics of a worker of a cluster. None is per peer, so 1,000 workers cost no more than two. */
export const CLUSTER_METRICS: readonly Metric<ClusterFigures>[] = [
  {
    name: 'tiered.cluster.members',
    kind: 'gauge',
    unit: '{worker}',
    description: 'Workers that are there, as this one knows it, with this one.',
    of: ({ members }) => [[members]],
  },
  {
    name: 'tiered.cluster.peers',
    kind: 'gauge',
    unit: '{peer}',
    description: 'Workers that this one reads from: those that it asks, and those that it leaves alone now.',
    of: ({ perPeer }) => {
      const asked = perPeer.filter(({ isAsked }) => isAsked).length;
      return [
        [asked, { 'tiered.peer.state': 'asked' }],
        [perPeer.length - asked, { 'tiered.peer.state': 'left_alone' }],
      ];
    },
  },
  {
    name: 'tiered.cluster.peer_reads',
    kind: 'count',
    unit: '{read}',
    description: 'Reads that other workers were asked for, by what came of it.',
    of: ({ asked }) => [
      [asked.reads, { 'tiered.peer.outcome': 'answered' }],
      [asked.missed, { 'tiered.peer.outcome': 'missed' }],
      [asked.changed, { 'tiered.peer.outcome': 'changed' }],
      [asked.damaged, { 'tiered.peer.outcome': 'damaged' }],
      [asked.failed, { 'tiered.peer.outcome': 'failed' }],
    ],
  },
  {
    name: 'tiered.cluster.source_reads',
    kind: 'count',
    unit: '{read}',
    description: 'Reads of objects that other workers keep, which the source was asked for, by the reason.',
    of: ({ inVain, preferred, late }) => [
      [inVain, { 'tiered.peer.reason': 'in_vain' }],
      [preferred, { 'tiered.peer.reason': 'preferred' }],
      [late, { 'tiered.peer.reason': 'late' }],
    ],
  },
];

/**
 * Creates metrics of `cluster.stats()`, which is called when they are collected. All have the attributes
 * `tiered.cluster.name` and `tiered.cluster.rank`. Bytes that came from peers are among the metrics of the
 * hierarchy.
 * @param cluster Kept in memory until the metrics end.
 * @returns A function that ends the metrics.
 */
export function observeCluster(cluster: ObservedCluster, options: ClusterMetricsOptions = {}): () => void {
  const { name = 'cluster', attributes, meterProvider } = options;
  return observe(CLUSTER_METRICS, () => cluster.stats(), {
    meterProvider,
    attributes: { ...attributes, 'tiered.cluster.name': name, 'tiered.cluster.rank': cluster.rank },
  });
}
