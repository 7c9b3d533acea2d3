import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FaultDriver, type FaultRule } from '@tiered/core/testing';
import { memoryWith, pattern, readFrom } from '../helpers.js';

/** Positions of the bits in which two ranges differ. */
function flippedBits(a: Uint8Array, b: Uint8Array): number[] {
  expect(a.byteLength).toBe(b.byteLength);
  const bits: number[] = [];
  for (const [index, byte] of a.entries()) {
    for (let bit = 0; bit < 8; bit++) if ((((b[index] ?? 0) ^ byte) >> bit) & 1) bits.push(index * 8 + bit);
  }
  return bits;
}

async function corrupting(size: number, seed: number) {
  const memory = await memoryWith({ a: pattern(size) });
  return { memory, driver: new FaultDriver(memory, { rules: [{ fault: { kind: 'corrupt' } }], seed }) };
}

describe('truncate', () => {
  it('halves what a read gives, and the count of a readInto', async () => {
    const memory = await memoryWith({ a: pattern(11) });
    const driver = new FaultDriver(memory, { rules: [{ fault: { kind: 'truncate' } }] });
    expect(await readFrom(driver, 'a', 100)).toEqual(pattern(5));
    expect(await driver.readInto('a', new Uint8Array(8), { offset: 0 })).toBe(4);
    const requests = [{ key: 'a', offset: 0, target: new Uint8Array(2) }];
    expect(await driver.readMany(requests, {})).toEqual([{ bytes: 1 }]);
  });

  it('leaves operations alone that give no bytes', async () => {
    const memory = await memoryWith({ a: pattern(11) });
    const driver = new FaultDriver(memory, { rules: [{ fault: { kind: 'truncate' } }] });
    await driver.write('b', pattern(4), { size: 4 });
    expect(await driver.stat('b', {})).toMatchObject({ key: 'b', size: 4 });
    expect(await driver.usage({})).toMatchObject({ bytes: 15, objects: 2 });
    expect((await driver.list({}).next()).value).toHaveLength(2);
  });
});

describe('corrupt', () => {
  it('flips exactly one bit of what a read gives, in a copy: the object stays as it is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 300 }), fc.maxSafeNat(), async (size, seed) => {
        const { memory, driver } = await corrupting(size, seed);
        expect(flippedBits(pattern(size), await readFrom(driver, 'a', size))).toHaveLength(1);
        expect(await readFrom(memory, 'a', size)).toEqual(pattern(size));
      }),
    );
  });

  it('flips exactly one bit of what a readInto gave, and none behind it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 300 }),
        fc.nat({ max: 50 }),
        fc.maxSafeNat(),
        async (size, more, seed) => {
          const { memory, driver } = await corrupting(size, seed);
          const target = new Uint8Array(size + more).fill(0xaa);
          expect(await driver.readInto('a', target, { offset: 0 })).toBe(size);
          expect(flippedBits(pattern(size), target.subarray(0, size))).toHaveLength(1);
          expect([...target.subarray(size)].every((byte) => byte === 0xaa)).toBe(true);
          expect(await readFrom(memory, 'a', size)).toEqual(pattern(size));
        },
      ),
    );
  });

  it('flips the same bits for the same seed, and in time every bit', async () => {
    const run = async (seed: number) => {
      const { driver } = await corrupting(3, seed);
      const bits: number[] = [];
      for (let i = 0; i < 200; i++) bits.push(...flippedBits(pattern(3), await readFrom(driver, 'a', 3)));
      return bits;
    };
    const bits = await run(1);
    expect(await run(1)).toEqual(bits);
    expect(await run(2)).not.toEqual(bits);
    expect(new Set(bits).size).toBe(24);
  });

  it('leaves operations alone that give no bytes, and reads past the end', async () => {
    const { driver } = await corrupting(4, 0);
    expect(await driver.read('a', { offset: 4, length: 10 })).toEqual(new Uint8Array(0));
    expect(await driver.readInto('a', new Uint8Array(0), { offset: 0 })).toBe(0);
    expect(await driver.stat('a', {})).toMatchObject({ key: 'a', size: 4 });
    await driver.write('b', pattern(2), { size: 2 });
    expect(await driver.usage({})).toMatchObject({ bytes: 6, objects: 2 });
  });
});

describe('probability', () => {
  const failures = async (probability: number, seed: number, calls = 1000) => {
    const rules: FaultRule[] = [{ operations: ['read'], probability, fault: { kind: 'fail' } }];
    const driver = new FaultDriver(await memoryWith({ a: pattern(1) }), { rules, seed });
    const failed: number[] = [];
    for (let i = 0; i < calls; i++) await readFrom(driver, 'a', 1).catch(() => failed.push(i));
    return failed;
  };

  it('makes the same calls fail for the same seed, and others for another', async () => {
    const first = await failures(0.3, 1);
    expect(await failures(0.3, 1)).toEqual(first);
    expect(await failures(0.3, 2)).not.toEqual(first);
  });

  it.each([0.05, 0.3, 0.9])('%d is about that share of the calls', async (probability) => {
    const share = (await failures(probability, 11, 4000)).length / 4000;
    const deviation = Math.sqrt((probability * (1 - probability)) / 4000);
    expect(Math.abs(share - probability)).toBeLessThan(4 * deviation);
  });

  it('0 is never and 1 is always', async () => {
    expect(await failures(0, 1)).toHaveLength(0);
    expect(await failures(1, 1)).toHaveLength(1000);
  });

  it('does not depend on calls that the rule does not match', async () => {
    const rules: FaultRule[] = [{ key: /^a$/, probability: 0.5, fault: { kind: 'fail' } }];
    const run = async (others: number) => {
      const driver = new FaultDriver(await memoryWith({ a: pattern(1), b: pattern(1) }), { rules, seed: 3 });
      for (let i = 0; i < 100; i++) {
        for (let j = 0; j < others; j++) await driver.stat('b', {});
        await driver.stat('a', {}).then(
          () => driver.injected.push('passed'),
          () => undefined,
        );
      }
      return driver.injected;
    };
    expect(await run(3)).toEqual(await run(0));
  });
});
