import { formatBytes, type HierarchyStats } from '@tiered/core';
import { countOf, percentOf } from './words.js';

/** How full each tier is, and what is known of the source. Tiers without a quota are left out. */
export function levelsText({ tiers, source, namespace }: HierarchyStats): string {
  const lines = tiers.map(({ level, driver, usedBytes, quotaBytes, writable, readable }) => {
    if (quotaBytes === 0) return `tier ${level}, ${driver}: left to the training`;
    const share = percentOf(usedBytes, quotaBytes);
    const state = readable && writable ? '' : '; out of service';
    return `tier ${level}, ${driver}: ${formatBytes(usedBytes)} of ${formatBytes(quotaBytes)} (${share})${state}`;
  });
  return [
    ...lines,
    `source, ${source.driver}: ${countOf(namespace.objects, 'object')}, ${formatBytes(namespace.bytes)}`,
  ].join('\n');
}
