import type { HierarchyStats } from '@tiered/core';

/** What the source gave, and what it had to give. */
export interface SourceFigures {
  /** Bytes that the source has given since the hierarchy was opened. */
  readonly givenBytes: number;
  /**
   * The fewest that so many whole epochs need with these tiers, if they are empty at first: everything once,
   * and then in each epoch what does not fit. A training that was resumed, or found copies, needs fewer.
   */
  readonly leastBytes: number;
  /** Epochs that were begun. */
  readonly epochs: number;
}

/**
 * How far the reads of the source are from the least that is possible for one rank that reads everything.
 * Bytes that were on the tiers before count as if they had been fetched.
 */
export function sourceFiguresOf({ tiers, source, namespace }: HierarchyStats, epochs: number): SourceFigures {
  const room = tiers.reduce((sum, { quotaBytes }) => sum + quotaBytes, 0);
  const left = Math.max(0, namespace.bytes - room);
  const leastBytes = namespace.bytes + Math.max(0, epochs - 1) * left;
  return { givenBytes: source.readBytes, leastBytes, epochs };
}
