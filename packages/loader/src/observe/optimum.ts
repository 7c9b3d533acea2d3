import type { HierarchyStats } from '@tiered/core';

/** What the source gave, and what it had to give. */
export interface Optimum {
  /** Bytes that the source has given since the hierarchy was opened. */
  readonly sourceBytes: number;
  /**
   * The fewest that so many epochs need with these tiers: everything once, and then in each epoch what does
   * not fit.
   */
  readonly leastBytes: number;
}

/**
 * How far the reads of the source are from the least that is possible for one rank that reads everything.
 * Bytes that were on the tiers before count as if they had been fetched.
 */
export function optimumOf({ tiers, source, namespace }: HierarchyStats, epochs: number): Optimum {
  const room = tiers.reduce((sum, { quotaBytes }) => sum + quotaBytes, 0);
  const left = Math.max(0, namespace.bytes - room);
  return { sourceBytes: source.readBytes, leastBytes: namespace.bytes + Math.max(0, epochs - 1) * left };
}
