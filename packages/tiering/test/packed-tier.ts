import { Hierarchy, Random, type StorageDriver, type TierLayout } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import type { ManualClock } from '@tiered/core/testing';
import { PlacementHandler, type PlacementHandlerOptions } from '@tiered/tiering';
import { expect } from 'vitest';

export const CHUNK = 2 ** 20;
/** Everybody looks so often at what the others did. */
export const LOOK_MS = 250;
/** Nothing came for so long: what is gathered is written. */
export const QUIET_MS = 1000;

interface Options extends PlacementHandlerOptions {
  readonly layout?: TierLayout;
  readonly quota?: number;
  readonly clock?: ManualClock;
}

/** A started hierarchy over one tier, and what it brings from the source. */
export async function start(
  storage: StorageDriver,
  driver: StorageDriver,
  { layout = 'packed', quota = 2 ** 27, clock, ...options }: Options = {},
) {
  const source = new MetricsDriver(storage);
  const hierarchy = new Hierarchy({
    source,
    tiers: [{ driver, quota, layout }],
    placement: new PlacementHandler({ chunk: CHUNK, ...options }),
    ...(clock && { clock }),
  });
  const dropped: string[] = [];
  const faults: string[] = [];
  hierarchy.on('dropped', ({ key, reason }) => dropped.push(`${key} ${reason}`));
  hierarchy.on('tierFault', ({ operation }) => faults.push(operation));
  await hierarchy.open();
  await hierarchy.idle();
  return { hierarchy, dropped, faults, brought: () => source.metrics().operations.readInto?.bytes ?? 0 };
}

export const sizesOf = (count: number, seed = 1): number[] => {
  const random = new Random(seed);
  return Array.from({ length: count }, () => 1 + random.below(3000));
};

/** As `toEqual`, which takes milliseconds for each of these. */
export function expectSame(got: Uint8Array, wanted: Uint8Array | undefined): void {
  expect(Buffer.compare(got, wanted ?? new Uint8Array())).toBe(0);
}

export const filesOn = async (driver: StorageDriver) => (await driver.usage({})).objects;

/** Reads everything in each of the ways there are. */
export async function readAll(hierarchy: Hierarchy, objects: Map<string, Uint8Array>): Promise<void> {
  for (const [key, bytes] of objects) {
    expectSame(await hierarchy.read(key), bytes);
    const target = new Uint8Array(bytes.byteLength + 5).fill(7);
    expect(await hierarchy.readInto(key, target)).toBe(bytes.byteLength);
    expectSame(target, Uint8Array.of(...bytes, 7, 7, 7, 7, 7));
    const half = bytes.byteLength >> 1;
    expectSame(await hierarchy.read(key, { offset: half, length: 40 }), bytes.subarray(half, half + 40));
  }
  const requests = [...objects].map(([key, bytes], i) => ({
    key,
    offset: i % bytes.byteLength,
    target: new Uint8Array(bytes.byteLength),
  }));
  const pieces = [...objects].map(([key, bytes]) => {
    const third = Math.floor(bytes.byteLength / 3);
    const ranges = Float64Array.of(bytes.byteLength - third, third, 0, third, third, 1);
    return { key, target: new Uint8Array(2 * third + 1), pieces: ranges };
  });
  for (const outcome of await hierarchy.readMany(pieces)) expect(outcome).not.toHaveProperty('error');
  for (const { key, target } of pieces) {
    const bytes = objects.get(key) ?? new Uint8Array();
    const third = Math.floor(bytes.byteLength / 3);
    const parts = [
      bytes.slice(bytes.byteLength - third),
      bytes.slice(0, third),
      bytes.slice(third, third + 1),
    ];
    expectSame(target, Buffer.concat(parts));
  }
  const outcomes = await hierarchy.readMany(requests);
  for (const [i, { key, offset, target }] of requests.entries()) {
    const bytes = objects.get(key)?.subarray(offset) ?? new Uint8Array();
    expect(outcomes[i]).toEqual({ bytes: bytes.byteLength });
    expectSame(target.subarray(0, bytes.byteLength), bytes);
  }
}

/** All at once, and then everything is placed. */
export async function fill(hierarchy: Hierarchy, objects: Map<string, Uint8Array>): Promise<void> {
  const reads = [...objects].map(async ([key, bytes]) => expectSame(await hierarchy.read(key), bytes));
  await Promise.all(reads);
  await hierarchy.idle();
}
