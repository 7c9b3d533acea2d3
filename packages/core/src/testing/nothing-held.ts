import assert from 'node:assert/strict';
import type { HierarchyStats } from '../hierarchy/stats.js';

/**
 * Asserts that a hierarchy holds nothing: no read, no fetch, no memory for one, no reservation. For
 * teardowns.
 */
export function assertNothingHeld({ activeReads, placement, tiers }: HierarchyStats): void {
  const { fetching, fetchingBytes } = placement;
  const reserved = tiers.map(({ reservedBytes }) => reservedBytes);
  const nothing = { activeReads: 0, fetching: 0, fetchingBytes: 0, reserved: tiers.map(() => 0) };
  assert.deepEqual({ activeReads, fetching, fetchingBytes, reserved }, nothing);
}
