import type { Hierarchy, HierarchyStats, TierStats } from '@tiered/core';
import { observe, type Measurement, type Metric, type MetricsOptions } from './observe.js';

/** Options of `observeHierarchy`. */
export interface HierarchyMetricsOptions extends MetricsOptions {
  /** The attribute `tiered.hierarchy.name`. Default: the hierarchy's own name. */
  readonly name?: string | undefined;
}

const OUTCOMES = ['placed', 'adopted', 'promoted', 'failed', 'declined', 'behind'] as const;
const DROPS = ['evicted', 'damaged', 'outdated'] as const;

/** The metrics of a hierarchy. */
export const HIERARCHY_METRICS: readonly Metric<HierarchyStats>[] = [
  {
    name: 'tiered.reads',
    kind: 'count',
    unit: '{read}',
    description: 'Reads that were served, by what they waited for.',
    of: ({ reads }) => [
      [reads.fromTiers, { 'tiered.read.served_by': 'tiers' }],
      [reads.fromSource, { 'tiered.read.served_by': 'source' }],
      [reads.joined, { 'tiered.read.served_by': 'joined' }],
      [reads.empty, { 'tiered.read.served_by': 'empty' }],
    ],
  },
  {
    name: 'tiered.reads.active',
    kind: 'sum',
    unit: '{read}',
    description: 'Reads under way.',
    of: ({ activeReads }) => [[activeReads]],
  },
  {
    name: 'tiered.tier.reads',
    kind: 'count',
    unit: '{read}',
    description: 'Reads that a tier served, in whole or in part.',
    of: byTier(({ reads }) => [[reads]]),
  },
  {
    name: 'tiered.tier.io',
    kind: 'count',
    unit: 'By',
    description: 'Bytes that a tier gave to reads.',
    of: byTier(({ readBytes }) => [[readBytes]]),
  },
  {
    name: 'tiered.tier.faults',
    kind: 'count',
    unit: '{operation}',
    description: 'Operations of a tier that failed, and were served from elsewhere.',
    of: byTier(({ faults }) => [[faults]]),
  },
  {
    name: 'tiered.tier.usage',
    kind: 'sum',
    unit: 'By',
    description: 'Bytes of copies on a tier, and bytes claimed for copies on their way.',
    of: byTier(({ usedBytes, reservedBytes }) => [
      [usedBytes, { 'tiered.tier.state': 'used' }],
      [reservedBytes, { 'tiered.tier.state': 'reserved' }],
    ]),
  },
  {
    name: 'tiered.tier.limit',
    kind: 'sum',
    unit: 'By',
    description: 'Bytes that a tier may hold now.',
    of: byTier(({ quotaBytes }) => [[quotaBytes]]),
  },
  {
    name: 'tiered.tier.in_service',
    kind: 'gauge',
    unit: '1',
    description: 'Whether reads, or fills, use a tier: 1 or 0.',
    of: byTier(({ readable, writable }) => [
      [Number(readable), { 'tiered.tier.use': 'read' }],
      [Number(writable), { 'tiered.tier.use': 'write' }],
    ]),
  },
  {
    name: 'tiered.source.operations',
    kind: 'count',
    unit: '{operation}',
    description: 'Requests to the source, of readers and of the placement.',
    of: ({ source }) => [[source.reads, { 'tiered.driver': source.driver }]],
  },
  {
    name: 'tiered.source.io',
    kind: 'count',
    unit: 'By',
    description: 'Bytes that the source gave.',
    of: ({ source }) => [[source.readBytes, { 'tiered.driver': source.driver }]],
  },
  {
    name: 'tiered.peers.operations',
    kind: 'count',
    unit: '{operation}',
    description: 'Requests that other workers of a cluster answered in place of the source.',
    of: ({ peers }) => (peers === undefined ? [] : [[peers.reads]]),
  },
  {
    name: 'tiered.peers.io',
    kind: 'count',
    unit: 'By',
    description: 'Bytes that other workers of a cluster gave.',
    of: ({ peers }) => (peers === undefined ? [] : [[peers.readBytes]]),
  },
  {
    name: 'tiered.placements',
    kind: 'count',
    unit: '{placement}',
    description: 'Placements by their outcome. Declined ones, and those behind, count reads.',
    of: ({ placement }) => OUTCOMES.map((of) => [placement[of], { 'tiered.placement.outcome': of }]),
  },
  {
    name: 'tiered.placement.waits',
    kind: 'count',
    unit: '{chunk}',
    description: 'Chunks that readers asked for and that waited for memory, because tiers were behind.',
    of: ({ placement }) => [[placement.waited]],
  },
  {
    name: 'tiered.placement.fetches',
    kind: 'sum',
    unit: '{fetch}',
    description: 'Fetches under way.',
    of: ({ placement }) => [[placement.fetching]],
  },
  {
    name: 'tiered.placement.memory',
    kind: 'sum',
    unit: 'By',
    description: 'Memory that fetches hold.',
    of: ({ placement }) => [[placement.fetchingBytes]],
  },
  {
    name: 'tiered.copies.dropped',
    kind: 'count',
    unit: '{copy}',
    description: 'Copies that are not served any more, by the reason.',
    of: ({ placement }) => DROPS.map((of) => [placement[of], { 'tiered.drop.reason': of }]),
  },
  {
    name: 'tiered.namespace.objects',
    kind: 'sum',
    unit: '{object}',
    description: 'Objects that are known.',
    of: ({ namespace }) => [[namespace.objects]],
  },
  {
    name: 'tiered.namespace.size',
    kind: 'sum',
    unit: 'By',
    description: 'The sum of their sizes.',
    of: ({ namespace }) => [[namespace.bytes]],
  },
];

/**
 * Creates metrics of `hierarchy.stats()`, which is called when they are collected. They cost nothing in
 * between. All have the attribute `tiered.hierarchy.name`.
 * @param hierarchy Kept in memory until the metrics end.
 * @returns A function that ends the metrics. Call it after the last collection that should include them, such
 * as the provider's `forceFlush`. The SDK goes on exporting the last values that it saw.
 */
export function observeHierarchy(hierarchy: Hierarchy, options: HierarchyMetricsOptions = {}): () => void {
  const { name = hierarchy.name, attributes, meterProvider } = options;
  return observe(HIERARCHY_METRICS, () => hierarchy.stats(), {
    meterProvider,
    attributes: { ...attributes, 'tiered.hierarchy.name': name },
  });
}

/** Measures each tier. */
function byTier(of: (tier: TierStats) => readonly Measurement[]): Metric<HierarchyStats>['of'] {
  return ({ tiers }) =>
    tiers.flatMap((tier) => {
      const { level, driver } = tier;
      return of(tier).map(([value, own]): Measurement => [
        value,
        { 'tiered.level': level, 'tiered.driver': driver, ...own },
      ]);
    });
}
