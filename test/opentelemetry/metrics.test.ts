import { metrics } from '@opentelemetry/api';
import { Cluster } from '@tiered/cluster';
import { MemoryRecords, MemoryRegistry } from '@tiered/cluster/registry';
import { MemoryDriver, systemClock, type HierarchyStats } from '@tiered/core';
import { observeCluster, observeHierarchy, observePrefetcher } from '@tiered/opentelemetry';
import { PlacementHandler, lru } from '@tiered/tiering';
import { describe, expect, it, onTestFinished } from 'vitest';
import { metered, scraped, valuesOf } from './metered.js';
import { files, hierarchyOver, trainOver } from './training.js';

/** The values of every metric of a hierarchy that says what `stats()` says. */
function expectedOf(
  { reads, tiers, source, placement, namespace, activeReads }: HierarchyStats,
  name: string,
) {
  const of = (...pairs: (readonly [number, string?])[]) =>
    Object.fromEntries(
      pairs.map(([value, attributes]) => [
        `tiered.hierarchy.name=${name}${attributes === undefined ? '' : ` ${attributes}`}`,
        value,
      ]),
    );
  const [tier] = tiers;
  if (tier === undefined) throw new Error('there is no tier');
  const ram = `tiered.level=0 tiered.driver=${tier.driver}`;
  const from = `tiered.driver=${source.driver}`;
  const by = (what: string) => `tiered.read.served_by=${what}`;
  const outcome = (what: string) => `tiered.placement.outcome=${what}`;
  const reason = (what: string) => `tiered.drop.reason=${what}`;
  return {
    'tiered.reads': of(
      [reads.fromTiers, by('tiers')],
      [reads.fromSource, by('source')],
      [reads.joined, by('joined')],
      [reads.empty, by('empty')],
    ),
    'tiered.reads.active': of([activeReads]),
    'tiered.tier.reads': of([tier.reads, ram]),
    'tiered.tier.io': of([tier.readBytes, ram]),
    'tiered.tier.faults': of([tier.faults, ram]),
    'tiered.tier.usage': of(
      [tier.usedBytes, `${ram} tiered.tier.state=used`],
      [tier.reservedBytes, `${ram} tiered.tier.state=reserved`],
    ),
    'tiered.tier.limit': of([tier.quotaBytes, ram]),
    'tiered.tier.in_service': of([1, `${ram} tiered.tier.use=read`], [1, `${ram} tiered.tier.use=write`]),
    'tiered.source.operations': of([source.reads, from]),
    'tiered.source.io': of([source.readBytes, from]),
    'tiered.placements': of(
      [placement.placed, outcome('placed')],
      [placement.adopted, outcome('adopted')],
      [placement.promoted, outcome('promoted')],
      [placement.failed, outcome('failed')],
      [placement.declined, outcome('declined')],
      [placement.behind, outcome('behind')],
    ),
    'tiered.placement.waits': of([placement.waited]),
    'tiered.placement.fetches': of([placement.fetching]),
    'tiered.placement.memory': of([placement.fetchingBytes]),
    'tiered.copies.dropped': of(
      [placement.evicted, reason('evicted')],
      [placement.damaged, reason('damaged')],
      [placement.outdated, reason('outdated')],
    ),
    'tiered.namespace.objects': of([namespace.objects]),
    'tiered.namespace.size': of([namespace.bytes]),
  };
}

describe('observeHierarchy', () => {
  it('[N2] gives a collector exactly what the statistics say', async () => {
    const { meterProvider, collected } = await metered();
    const { root, keys } = await files();
    const hierarchy = await hierarchyOver(root, { name: 'train' });
    const stop = observeHierarchy(hierarchy, { meterProvider });
    expect(valuesOf(await collected()), 'before it was read').toEqual(expectedOf(hierarchy.stats(), 'train'));
    await trainOver(hierarchy, keys);
    const stats = hierarchy.stats();
    expect(stats.reads.fromTiers).toBeGreaterThan(0);
    expect(stats.tiers[0]?.usedBytes).toBeGreaterThan(100_000);
    const now = await collected();
    expect(valuesOf(now)).toEqual(expectedOf(stats, 'train'));
    const units = new Map([...now].map(([name, { unit }]) => [name, unit]));
    for (const [name, unit] of units)
      expect(unit === 'By', name).toBe(/\.(io|usage|limit|memory|size)$/.test(name));
    expect(now.get('tiered.reads')?.isMonotonic).toBe(true);
    expect(now.get('tiered.tier.usage')?.isMonotonic).toBe(false);

    await hierarchy.close();
    expect(valuesOf(await collected()), 'after it was closed').toEqual(
      expectedOf(hierarchy.stats(), 'train'),
    );
    stop();
  });

  it('tells hierarchies apart, and keeps keys to itself', async () => {
    const { meterProvider, collected } = await metered();
    const { root, keys } = await files();
    const one = await hierarchyOver(root, { name: 'one' });
    const placement = new PlacementHandler({ policy: lru, chunk: 4096 });
    const tiers = [{ driver: new MemoryDriver({ name: 'ram' }), quota: 50_000 }];
    const two = await hierarchyOver(root, { placement, tiers });
    observeHierarchy(one, { meterProvider });
    observeHierarchy(two, { meterProvider, name: 'two', attributes: { rank: 3 } });
    await trainOver(one, keys);
    await trainOver(two, keys);
    expect(two.stats().placement.evicted).toBeGreaterThan(0);
    const now = await collected();
    const reads = now.get('tiered.reads')?.values;
    expect(reads?.['tiered.hierarchy.name=one tiered.read.served_by=tiers']).toBe(
      one.stats().reads.fromTiers,
    );
    expect(reads?.['rank=3 tiered.hierarchy.name=two tiered.read.served_by=tiers']).toBe(
      two.stats().reads.fromTiers,
    );
    expect(now.get('tiered.copies.dropped')?.values).toMatchObject({
      'rank=3 tiered.hierarchy.name=two tiered.drop.reason=evicted': two.stats().placement.evicted,
    });
    expect(JSON.stringify([...now])).not.toContain('sample-');
  });

  it('leaves no callback when it is stopped: the statistics are not asked for any more', async () => {
    const { meterProvider, collected } = await metered();
    const { root, keys } = await files();
    const hierarchy = await hierarchyOver(root, { name: 'one' });
    const other = await hierarchyOver(root, { name: 'two' });
    const stop = observeHierarchy(hierarchy, { meterProvider });
    const stopOther = observeHierarchy(other, { meterProvider });
    await collected();
    stop();
    stop();
    await hierarchy.read(keys[5] ?? '');
    await other.read(keys[5] ?? '');
    const total = async (name: string) => {
      const values = Object.entries((await collected()).get('tiered.reads')?.values ?? {});
      return values.filter(([own]) => own.includes(name)).reduce((sum, [, value]) => sum + value, 0);
    };
    expect(await total('two')).toBe(1);
    // The SDK goes on exporting what it saw last, which was before this read.
    expect(await total('one')).toBe(0);
    stopOther();
    await other.read(keys[6] ?? '');
    expect(await total('two')).toBe(1);
  });

  it('says it to Prometheus as well', async () => {
    const { meterProvider, page } = await scraped();
    const { root, keys } = await files();
    const hierarchy = await hierarchyOver(root, { name: 'train' });
    const stop = observeHierarchy(hierarchy, { meterProvider });
    const prefetcher = await trainOver(hierarchy, keys);
    const stopPrefetcher = observePrefetcher(prefetcher, { meterProvider, name: 'train' });
    const { reads, tiers, source } = hierarchy.stats();
    const [tier] = tiers;
    const lines = (await page()).split('\n');
    const valueOf = (...parts: string[]) => {
      const found = lines.filter((line) => parts.every((part) => line.includes(part)));
      expect(found, parts.join(', ')).toHaveLength(1);
      return Number(found[0]?.split(' ').at(-1));
    };
    expect(valueOf('tiered_reads_total{', 'tiered_read_served_by="tiers"')).toBe(reads.fromTiers);
    expect(valueOf('tiered_reads_total{', 'tiered_read_served_by="source"')).toBe(reads.fromSource);
    expect(valueOf('tiered_tier_io_total{', 'tiered_driver="ram"')).toBe(tier?.readBytes);
    expect(valueOf('tiered_tier_usage{', 'tiered_tier_state="used"')).toBe(tier?.usedBytes);
    expect(valueOf('tiered_tier_limit{', 'tiered_level="0"')).toBe(tier?.quotaBytes);
    expect(valueOf('tiered_source_operations_total{')).toBe(source.reads);
    expect(valueOf('tiered_source_io_total{')).toBe(source.readBytes);
    expect(valueOf('tiered_prefetch_samples_total{', 'tiered_prefetcher_name="train"')).toBe(120);
    expect(valueOf('tiered_prefetch_consumer_wait_time_total{')).toBe(prefetcher.stats().stallMs / 1000);
    for (const line of lines.filter((each) => each.startsWith('tiered_')))
      expect(line).not.toContain('sample-');
    stop();
    stopPrefetcher();
  });

  it('takes the global provider by default', async () => {
    const { meterProvider, collected } = await metered();
    metrics.setGlobalMeterProvider(meterProvider);
    onTestFinished(() => metrics.disable());
    const { root } = await files();
    const hierarchy = await hierarchyOver(root);
    const stop = observeHierarchy(hierarchy);
    expect((await collected()).get('tiered.namespace.objects')?.values).toEqual({
      [`tiered.hierarchy.name=fs:${root}`]: 60,
    });
    stop();
  });
});

describe('observePrefetcher', () => {
  it('gives a collector what the prefetcher counts, and how long who waited', async () => {
    const { meterProvider, collected } = await metered();
    const { root, keys } = await files();
    const prefetcher = await trainOver(await hierarchyOver(root), keys);
    const stop = observePrefetcher(prefetcher, { meterProvider, name: 'train', attributes: { rank: 0 } });
    const [stats, profile] = [prefetcher.stats(), prefetcher.profile()];
    const now = await collected();
    const own = 'rank=0 tiered.prefetcher.name=train';
    const state = (what: string) => `${own} tiered.prefetch.state=${what}`;
    const readMs = profile.places.reduce((ms, place) => ms + place.producerMs, 0);
    expect(valuesOf(now)).toEqual({
      'tiered.prefetch.samples': { [own]: 120 },
      'tiered.prefetch.io': { [own]: stats.bytes },
      'tiered.prefetch.repeated': { [own]: stats.repeated },
      'tiered.prefetch.skipped': { [own]: 0 },
      'tiered.prefetch.buffered': { [state('reading')]: 0, [state('ready')]: 0 },
      'tiered.prefetch.memory.usage': { [own]: 0 },
      'tiered.prefetch.consumer.wait_time': { [own]: stats.stallMs / 1000 },
      'tiered.prefetch.buffer.limit': { [own]: stats.tuning.memoryBytes },
      'tiered.prefetch.producer.limit': { [own]: stats.tuning.producers },
      'tiered.prefetch.producer.busy_time': { [own]: readMs / 1000 },
      'tiered.prefetch.producer.wait_time': { [own]: profile.producerWaitMs / 1000 },
    });
    expect(stats.stallMs).toBeGreaterThan(0);
    expect(readMs).toBeGreaterThan(0);
    stop();
  });
});

describe('observeCluster', () => {
  /** A worker of two that know each other. */
  const joined = async (records: MemoryRecords, rank: number) => {
    const cluster = await Cluster.join({ registry: new MemoryRegistry(records), rank, size: 2 });
    onTestFinished(() => cluster.close());
    return cluster;
  };

  const changed = (cluster: Cluster) =>
    new Promise<void>((resolve) => cluster.once('members', () => resolve()));

  it('[N2] gives a collector what a worker knows of the others', async () => {
    const { meterProvider, collected } = await metered();
    const { root, keys } = await files();
    const records = new MemoryRecords(systemClock);
    const [keeper, cluster] = [await joined(records, 0), await joined(records, 1)];
    const kept = await hierarchyOver(root, { wrap: (driver) => keeper.source(driver) });
    await trainOver(kept, keys);
    await keeper.serve(kept);
    const hierarchy = await hierarchyOver(root, { wrap: (driver) => cluster.source(driver) });
    while (cluster.stats().perPeer.length === 0) await changed(cluster);
    const stop = observeCluster(cluster, { meterProvider, name: 'train' });
    const stopHierarchy = observeHierarchy(hierarchy, { meterProvider, name: 'train' });
    await trainOver(hierarchy, keys);

    const own = 'tiered.cluster.name=train tiered.cluster.rank=1';
    const outcome = (what: string) => `${own} tiered.peer.outcome=${what}`;
    const reason = (what: string) => `${own} tiered.peer.reason=${what}`;
    const expected = (peers: number) => {
      const { asked, inVain, preferred, late, members } = cluster.stats();
      return {
        'tiered.cluster.members': { [own]: members },
        'tiered.cluster.peers': {
          [`${own} tiered.peer.state=asked`]: peers,
          [`${own} tiered.peer.state=left_alone`]: 0,
        },
        'tiered.cluster.peer_reads': {
          [outcome('answered')]: asked.reads,
          [outcome('missed')]: asked.missed,
          [outcome('changed')]: asked.changed,
          [outcome('damaged')]: asked.damaged,
          [outcome('failed')]: asked.failed,
        },
        'tiered.cluster.source_reads': {
          [reason('in_vain')]: inVain,
          [reason('preferred')]: preferred,
          [reason('late')]: late,
        },
      };
    };
    const { asked, peers } = cluster.stats();
    expect(asked.reads).toBeGreaterThan(0);
    const now = valuesOf(await collected());
    expect(now).toMatchObject(expected(1));
    const of = 'tiered.hierarchy.name=train';
    expect(now).toMatchObject({
      'tiered.peers.operations': { [of]: peers.reads },
      'tiered.peers.io': { [of]: peers.bytes },
    });

    await keeper.close();
    while (cluster.stats().perPeer.length > 0) await changed(cluster);
    expect(cluster.stats().asked, 'of a worker that has left').toEqual(asked);
    expect(valuesOf(await collected())).toMatchObject(expected(0));
    stop();
    stopHierarchy();
  });
});
