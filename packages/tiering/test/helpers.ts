import {
  Hierarchy,
  MemoryDriver,
  Random,
  type HierarchyStats,
  type StorageDriver,
  type TierOptions,
} from '@tiered/core';
import { PlacementHandler, type PlacementHandlerOptions } from '@tiered/tiering';
import { expect } from 'vitest';

/** Bytes that look like nothing else, the same for the same seed. */
export function someBytes(size: number, seed: number): Uint8Array {
  const random = new Random(seed);
  return Uint8Array.from({ length: size }, () => random.below(256));
}

/** Objects `0`, `1`, ... of these sizes, with content of their own. */
export function objectsOf(sizes: readonly number[]): Map<string, Uint8Array> {
  return new Map(sizes.map((size, i) => [String(i), someBytes(size, i)]));
}

/** A memory driver with these objects. */
export async function memoryWith(objects: Map<string, Uint8Array>): Promise<MemoryDriver> {
  const driver = new MemoryDriver();
  for (const [key, bytes] of objects) await driver.write(key, bytes, { size: bytes.byteLength });
  return driver;
}

/** A started hierarchy over these levels. */
export function startHierarchy(
  source: StorageDriver,
  tiers: readonly TierOptions[],
  options: PlacementHandlerOptions = {},
): Promise<Hierarchy> {
  return new Hierarchy({ source, tiers, placement: new PlacementHandler(options) }).start();
}

/** Asserts that a hierarchy holds nothing: no read, no fetch, no memory, no reservation. */
export function expectNothingHeld(stats: HierarchyStats): void {
  expect({
    activeReads: stats.activeReads,
    fetching: stats.placement.fetching,
    fetchingBytes: stats.placement.fetchingBytes,
    reserved: stats.tiers.map(({ reservedBytes }) => reservedBytes),
  }).toEqual({ activeReads: 0, fetching: 0, fetchingBytes: 0, reserved: stats.tiers.map(() => 0) });
}
