import { Hierarchy, MemoryDriver, type StorageDriver, type TierOptions } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { PlacementHandler, type PlacementHandlerOptions } from '@tiered/tiering';

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
  return new Hierarchy({ source, tiers, placement: new PlacementHandler({ chunk: 10, ...options }) }).start();
}
