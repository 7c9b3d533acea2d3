import { Hierarchy, MemoryDriver, type Random, type StorageDriver, type TierOptions } from '@tiered/core';
import { settled, someBytes } from '@tiered/core/testing';
import { PlacementHandler, type PlacementHandlerOptions } from '@tiered/tiering';
import { expect } from 'vitest';

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

/** What the copies on a tier are called, by their keys; the keys are lower case and the copies one each. */
export async function copyNames(tier: StorageDriver | undefined): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for await (const page of tier?.list({}) ?? [])
    for (const { key } of page) names.set(key.slice(0, key.lastIndexOf('@')), key);
  return names;
}

/** Lets the event loop turn, with what a thread or a disk has to say, until something is so. */
export async function until(isSo: () => boolean): Promise<void> {
  for (let turns = 0; !isSo(); turns++) {
    if (turns > 1_000_000) throw new Error('it never came to that');
    await settled();
  }
}

/** A started hierarchy over these levels. */
export function startHierarchy(
  source: StorageDriver,
  tiers: readonly TierOptions[],
  options: PlacementHandlerOptions = {},
): Promise<Hierarchy> {
  return new Hierarchy({ source, tiers, placement: new PlacementHandler({ chunk: 10, ...options }) }).open();
}

/**
 * Reads every object once, in pieces, in a shuffled order, and looks at every byte; several readers take the
 * objects from one line.
 */
export async function readEpoch(
  hierarchy: Hierarchy,
  objects: Map<string, Uint8Array>,
  { random, readers, piece }: { random: Random; readers: number; piece: number },
): Promise<void> {
  const keys = [...objects.keys()];
  const line = [...random.permutation(keys.length)].map((i) => keys[i] ?? '').values();
  const reader = async () => {
    for (const key of line) {
      const bytes = objects.get(key) ?? new Uint8Array();
      for (let offset = 0; offset < bytes.byteLength; offset += piece) {
        const got = await hierarchy.read(key, { offset, length: piece });
        expect(Buffer.compare(got, bytes.subarray(offset, offset + piece))).toBe(0);
      }
    }
  };
  await Promise.all(Array.from({ length: readers }, reader));
}
