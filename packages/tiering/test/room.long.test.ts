import { IndexedMemoryDriver } from '@tiered/core/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { memoryWith, objectsOf, startHierarchy } from './helpers.js';

const QUOTA = 1_000_000;

it('[F1] readers that want room all at once are granted it one after the other: each object is fetched once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 20_000, max: 60_000 }), async (size) => {
      // So many that the lease, a 16th of the quota, is asked for again and again, by more readers than it
      // has room for.
      const objects = objectsOf(Array.from({ length: Math.floor((0.9 * QUOTA) / size) }, () => size));
      const source = await memoryWith(objects);
      const tier = { driver: new IndexedMemoryDriver(), quota: QUOTA };
      const hierarchy = await startHierarchy(source, [tier], { chunk: 16_384 });
      const reads = [...objects].map(async ([key, bytes]) =>
        expect(Buffer.compare(await hierarchy.read(key), bytes)).toBe(0),
      );
      await Promise.all(reads);
      await hierarchy.idle();
      const { source: from, placement } = hierarchy.stats();
      const { behind, placed } = placement;
      expect({ bytes: from.readBytes, behind, placed }).toEqual({
        bytes: size * objects.size,
        behind: 0,
        placed: objects.size,
      });
      await hierarchy.close();
    }),
    { numRuns: 10 },
  );
});
