import { MemoryDriver, type Hierarchy } from '@tiered/core';
import { assertNothingHeld } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf, startHierarchy } from './helpers.js';

const SIZE = 100;
/** More turns than a read of memory takes from its beginning to its end. An object for each. */
const TURNS = 100;
const OBJECTS = objectsOf(Array.from({ length: TURNS }, () => SIZE));
/** What the second reader wants. */
const [FROM, TO] = [13, 91];

type Read = (hierarchy: Hierarchy, key: string, from: number, to: number) => Promise<Uint8Array>;

const WAYS: Readonly<Record<string, Read>> = {
  read: (hierarchy, key, offset, to) => hierarchy.read(key, { offset, length: to - offset }),
  readInto: async (hierarchy, key, offset, to) => {
    const target = new Uint8Array(to - offset);
    return target.subarray(0, await hierarchy.readInto(key, target, { offset }));
  },
  readMany: async (hierarchy, key, offset, to) => {
    const target = new Uint8Array(to - offset);
    expect(await hierarchy.readMany([{ key, offset, target }])).toEqual([{ bytes: to - offset }]);
    return target;
  },
};

const ROOMS = [
  { room: 'no room for it', quota: SIZE - 1 },
  { room: 'room for two', quota: 2 * SIZE },
  { room: 'room for all', quota: TURNS * SIZE },
];

describe.each(ROOMS)('with $room', ({ quota }) => {
  it.each(Object.entries(WAYS))(
    '[R1] a read that comes at any instant of another read of the same object, by %s, has all of its bytes',
    async (_, second) => {
      for (const first of Object.values(WAYS)) {
        const tiers = [{ driver: new MemoryDriver(), quota }];
        const hierarchy = await startHierarchy(await memoryWith(OBJECTS), tiers);
        for (const [turns, [key, bytes]] of [...OBJECTS].entries()) {
          const begun = first(hierarchy, key, 0, SIZE);
          for (let turn = 0; turn < turns; turn++) await Promise.resolve();
          const joined = second(hierarchy, key, FROM, TO);
          const both = await Promise.all([begun, joined]);
          expect(both, `${turns} turns later`).toEqual([bytes, bytes.subarray(FROM, TO)]);
        }
        await hierarchy.close();
        assertNothingHeld(hierarchy.stats());
      }
    },
  );
});
