import { formatBytes, type HierarchyStats } from '@tiered/core';

/** How full each tier is, a line for each, and what is known of the source. */
export function levelsText({ tiers, source, namespace }: HierarchyStats): string {
  const lines = tiers.map(({ level, driver, usedBytes, quotaBytes, writable, readable }) => {
    const share = quotaBytes === 0 ? 0 : Math.round((100 * usedBytes) / quotaBytes);
    const state = readable && writable ? '' : '; out of service';
    return `tier ${level}, ${driver}: ${formatBytes(usedBytes)} of ${formatBytes(quotaBytes)} (${share} %)${state}`;
  });
  return [
    ...lines,
    `source, ${source.driver}: ${namespace.objects} objects, ${formatBytes(namespace.bytes)}`,
  ].join('\n');
}
