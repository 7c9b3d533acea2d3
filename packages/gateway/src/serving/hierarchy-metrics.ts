import type { Hierarchy, HierarchyStats } from '@tiered/core';
import { Gauge, type Aggregator, type Registry } from 'prom-client';

/** Where the metrics of hierarchies are registered. */
export interface HierarchyRegistries {
  /** Metrics of one process, such as those of its tiers in memory. */
  readonly own: Registry;
  /** Metrics that several processes share and report alike, such as those of tiers on disks. */
  readonly shared: Registry;
}

type TierStats = HierarchyStats['tiers'][number];

/** Adds metrics of hierarchies that are computed on demand. */
export function observeHierarchies(
  hierarchies: ReadonlyMap<string, Hierarchy>,
  { own, shared }: HierarchyRegistries,
): void {
  const ofBucket = (
    name: string,
    help: string,
    value: (stats: HierarchyStats) => number | undefined,
    registry: Registry = own,
  ) =>
    new Gauge({
      name: `tiered_${name}`,
      help,
      labelNames: ['bucket'],
      registers: [registry],
      collect() {
        for (const [bucket, hierarchy] of hierarchies) {
          const now = value(hierarchy.stats());
          if (now !== undefined) this.set({ bucket }, now);
        }
      },
    });
  ofBucket('objects', 'Known objects.', ({ namespace }) => namespace.objects, shared);
  ofBucket('source_reads', 'Requests to the source so far.', ({ source }) => source.reads);
  ofBucket('source_read_bytes', 'Bytes that they brought.', ({ source }) => source.readBytes);
  ofBucket('peers_reads', 'Requests that peers answered so far.', ({ peers }) => peers?.reads);
  ofBucket('peers_read_bytes', 'Bytes that they brought.', ({ peers }) => peers?.readBytes);
  ofBucket('reads_from_tiers', 'Reads that tiers served alone so far.', ({ reads }) => reads.fromTiers);
  ofBucket('reads_from_source', 'Reads that waited for the source so far.', ({ reads }) => reads.fromSource);

  const ofTiers = (
    name: string,
    help: string,
    value: (tier: TierStats) => number,
    { registry = own, isMeant = () => true, aggregator = 'sum' }: TierGaugeOptions = {},
  ) =>
    new Gauge({
      name: `tiered_tier_${name}`,
      help,
      labelNames: ['bucket', 'level'],
      registers: [registry],
      aggregator,
      collect() {
        for (const [bucket, hierarchy] of hierarchies)
          for (const tier of hierarchy.stats().tiers)
            if (isMeant(isInMemory(hierarchy, tier)))
              this.set({ bucket, level: String(tier.level) }, value(tier));
      },
    });
  for (const where of [
    { registry: own, isMeant: (inMemory: boolean) => inMemory },
    { registry: shared, isMeant: (inMemory: boolean) => !inMemory },
  ]) {
    ofTiers('used_bytes', 'Bytes that a tier holds.', ({ usedBytes }) => usedBytes, where);
    ofTiers('quota_bytes', 'Bytes that a tier may hold.', ({ quotaBytes }) => quotaBytes, where);
  }
  // Each process has faults of its own.
  const every = { aggregator: 'min' } as const;
  ofTiers('in_service', 'Whether reads use a tier.', ({ readable }) => (readable ? 1 : 0), every);
}

interface TierGaugeOptions {
  readonly registry?: Registry;
  /** Selects tiers by whether they are in the memory of the process. */
  readonly isMeant?: (inMemory: boolean) => boolean;
  readonly aggregator?: Aggregator;
}

function isInMemory({ tiers }: Hierarchy, { level }: TierStats): boolean {
  return tiers[level]?.driver.location === undefined;
}
