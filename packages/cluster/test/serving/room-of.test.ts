import { Hierarchy, MemoryDriver } from '@tiered/core';
import { ManualClock, someBytes } from '@tiered/core/testing';
import { firstFit, lru, PlacementHandler, type PlacementPolicy } from '@tiered/tiering';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RoomOf } from '../../src/serving/room-of.js';

const BYTES = 1_000;

async function place(quotas: readonly number[], policy: PlacementPolicy = firstFit) {
  const clock = new ManualClock();
  const source = new MemoryDriver({ name: 'source' });
  for (let i = 0; i < 5; i++) await source.write(`o${i}`, someBytes(BYTES, i), { size: BYTES });
  const hierarchy = await new Hierarchy({
    source,
    tiers: quotas.map((quota, i) => ({ driver: new MemoryDriver({ name: `tier ${i}` }), quota })),
    placement: new PlacementHandler({ policy, chunk: BYTES }),
  }).open();
  onTestFinished(() => hierarchy.close());
  const fill = async (count: number) => {
    for (let i = 0; i < count; i++) await hierarchy.read(`o${i}`);
    await hierarchy.idle();
  };
  return { clock, room: new RoomOf(hierarchy, clock), fill };
}

describe('the room of a worker', () => {
  it('[Z3] is what one tier has left, and not what all have together', async () => {
    const { room } = await place([BYTES, 2 * BYTES]);
    expect([room.has(2 * BYTES), room.has(2 * BYTES + 1)]).toEqual([true, false]);
  });

  it('[Z3] is none without tiers', async () => {
    expect((await place([])).room.has(1)).toBe(false);
  });

  it('[Z3] is looked at again after a tenth of a second', async () => {
    const { room, fill, clock } = await place([2 * BYTES]);
    expect(room.has(BYTES)).toBe(true);
    await fill(2);
    await clock.advance(99);
    expect(room.has(BYTES)).toBe(true);
    await clock.advance(1);
    expect(room.has(BYTES)).toBe(false);
  });

  it('[Z3] is there where something is evicted for it', async () => {
    const { room, fill } = await place([2 * BYTES], lru);
    await fill(5);
    expect(room.has(BYTES)).toBe(true);
  });
});
