import { Gauge, Registry } from 'prom-client';
import type { Optimum, TierFigures } from './stats-figures.js';

/** What is known of the levels of a configuration. */
export interface MeasuredLevels {
  readonly tiers: readonly TierFigures[];
  readonly source: { readonly driver: string; readonly objects: number; readonly bytes: number };
  readonly optimum: Optimum | undefined;
}

/**
 * The statistics in the text format of Prometheus, for a scrape of a file or a push: a cron job that writes
 * it into the directory of node_exporter's textfile collector needs no process of its own.
 */
export function prometheusText({ tiers, source, optimum }: MeasuredLevels): Promise<string> {
  const registry = new Registry();
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Gauge({ name: `tiered_${name}`, help, labelNames, registers: [registry] });
  const ofTier = ['level', 'driver'] as const;
  const quota = gauge('tier_quota_bytes', 'Bytes that a tier may hold, as configured.', ofTier);
  const used = gauge('tier_used_bytes', 'Bytes that a tier holds, of all sources.', ofTier);
  const free = gauge(
    'tier_disk_free_bytes',
    'Bytes that the file system of a tier could still take.',
    ofTier,
  );
  const members = gauge('tier_members', 'Processes that use a tier, or were killed while they did.', [
    ...ofTier,
    'running',
  ]);
  for (const { level, driver, quotaBytes, diskFreeBytes, summary } of tiers) {
    const labels = { level: String(level), driver };
    quota.set(labels, quotaBytes);
    if (diskFreeBytes !== undefined) free.set(labels, diskFreeBytes);
    if (summary === undefined) continue;
    used.set(labels, summary.usedBytes);
    for (const running of [true, false])
      members.set(
        { ...labels, running: String(running) },
        summary.members.filter(({ isRunning }) => isRunning === running).length,
      );
  }
  const ofSource = ['driver'] as const;
  gauge('source_objects', 'Objects of the source.', ofSource).set({ driver: source.driver }, source.objects);
  gauge('source_bytes', 'Bytes of the source.', ofSource).set({ driver: source.driver }, source.bytes);
  if (optimum !== undefined) {
    gauge('held_bytes', 'Bytes of this source on tiers that outlive a process.', []).set(optimum.heldBytes);
    gauge('room_bytes', 'Bytes of this source that all tiers have room for.', []).set(optimum.roomBytes);
  }
  return registry.metrics();
}
