import { Hierarchy, MemoryDriver } from '@tiered/core';
import { assertNothingHeld, HoldingDriver, outcomeOf, settled, someBytes } from '@tiered/core/testing';
import { PlacementHandler } from '@tiered/tiering';
import fc from 'fast-check';
import v8 from 'node:v8';
import { expect, it } from 'vitest';

/** Detaches memory, as `ArrayBuffer.prototype.transfer` does; Node 20 has that only inside. */
const takeAway = (() => {
  v8.setFlagsFromString('--allow-natives-syntax');
  // eslint-disable-next-line @typescript-eslint/no-implied-eval
  const detach = new Function('buffer', '%ArrayBufferDetach(buffer)') as (buffer: ArrayBufferLike) => void;
  v8.setFlagsFromString('--no-allow-natives-syntax');
  return detach;
})();

const SIZE = 100;
const KEYS = ['0', '1', '2', '3'];
const contentOf = (key: string) => someBytes(SIZE, Number(key));

async function startPlaced() {
  const source = new MemoryDriver();
  for (const key of KEYS) await source.write(key, contentOf(key), { size: SIZE });
  const driver = new MemoryDriver();
  const placement = new PlacementHandler({ chunk: SIZE });
  const hierarchy = new Hierarchy({ source, tiers: [{ driver, quota: 2 * SIZE * KEYS.length }], placement });
  await hierarchy.open();
  for (const key of KEYS) await hierarchy.place(key);
  return { hierarchy, driver };
}

it('[R1] bytes of a RAM tier that are given to another thread stay in the tier', async () => {
  const { hierarchy } = await startPlaced();
  for (const key of [...KEYS, ...KEYS]) {
    const bytes = await hierarchy.read(key);
    const { port1, port2 } = new MessageChannel();
    try {
      port1.postMessage(bytes, [bytes.buffer as ArrayBuffer]);
    } catch (error) {
      // Node 20 copies them, later ones refuse.
      expect(error).toMatchObject({ name: 'DataCloneError' });
    }
    port1.close();
    port2.close();
    expect(bytes).toEqual(contentOf(key));
  }
  expect(hierarchy.stats().tiers[0]).toMatchObject({ reads: 2 * KEYS.length, faults: 0 });
  await hierarchy.close();
});

it('[R1] [R2] [Q1] memory that is taken from a RAM tier costs a fetch: no read is wrong, no byte counted twice', async () => {
  const step = fc.record({ key: fc.constantFrom(...KEYS), takes: fc.boolean(), part: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const { hierarchy, driver } = await startPlaced();
      const dropped: string[] = [];
      hierarchy.on('dropped', ({ key, reason }) => dropped.push(`${key} ${reason}`));
      const gone = new Set<string>();
      const expected: string[] = [];
      for (const { key, takes, part } of steps) {
        if (gone.delete(key)) expected.push(`${key} missing`);
        const range = part ? { offset: 10, length: 20 } : {};
        const wanted = contentOf(key).subarray(range.offset, part ? 30 : undefined);
        expect(await hierarchy.read(key, range)).toEqual(wanted);
        await hierarchy.place(key);
        if (!takes) continue;
        takeAway((await hierarchy.read(key)).buffer);
        gone.add(key);
      }
      expect(dropped).toEqual(expected);
      for (const key of KEYS) {
        expect(await hierarchy.read(key)).toEqual(contentOf(key));
        await hierarchy.place(key);
      }
      expect(await driver.usage({})).toMatchObject({ bytes: SIZE * KEYS.length, objects: KEYS.length });
      expect(hierarchy.stats().tiers[0]?.usedBytes).toBe(SIZE * KEYS.length);
      await hierarchy.close();
      assertNothingHeld(hierarchy.stats());
    }),
    { numRuns: 50 },
  );
});

it.each(['nothing is placed', 'it is being placed'])(
  '[R1] a reader who gives its own memory away in the middle costs no other reader a byte, where %s',
  async (where) => {
    const inner = new MemoryDriver();
    await inner.write('0', contentOf('0'), { size: SIZE });
    const source = new HoldingDriver(inner, { operations: ['read', 'readInto'] });
    const quota = where === 'nothing is placed' ? SIZE - 1 : SIZE;
    const placement = new PlacementHandler({ chunk: 10 });
    const hierarchy = new Hierarchy({ source, tiers: [{ driver: new MemoryDriver(), quota }], placement });
    await hierarchy.open();
    const targets = Array.from({ length: 3 }, () => new Uint8Array(SIZE));
    const reads = targets.map((target) => outcomeOf(hierarchy.readInto('0', target)));
    await settled();
    // The one who asked first, and one of those who take what that brings.
    for (const target of targets.slice(0, 2)) takeAway(target.buffer);
    const last = outcomeOf(hierarchy.read('0'));
    await source.releaseAll();
    expect(reads[2]).toEqual({ value: SIZE });
    expect(targets[2]).toEqual(contentOf('0'));
    expect(last).toEqual({ value: contentOf('0') });
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
  },
);
