import { splitSamples } from '@tiered/loader';
import fc from 'fast-check';
import { expect, it } from 'vitest';

it('splits have every sample once, in rising order, in proportion, and the same for the same seed', () => {
  fc.assert(
    fc.property(fc.nat(1000), fc.nat(), fc.integer({ min: 1, max: 99 }), (samples, seed, percent) => {
      const shares = { train: percent / 100, validation: 1 - percent / 100 };
      const { train, validation } = splitSamples({ samples }, shares, { seed });
      expect([...train, ...validation].sort((a, b) => a - b)).toEqual([...Array(samples).keys()]);
      for (const part of [train, validation]) expect(part).toEqual(part.toSorted());
      expect(Math.abs(train.length - (samples * percent) / 100)).toBeLessThanOrEqual(1);
      expect(splitSamples({ samples }, shares, { seed })).toEqual({ train, validation });
    }),
  );
  expect(splitSamples({ samples: 100 }, { a: 0.5, b: 0.5 }, { seed: 1 })).not.toEqual(
    splitSamples({ samples: 100 }, { a: 0.5, b: 0.5 }, { seed: 2 }),
  );
});

it('shares that are no parts of a whole are refused', () => {
  expect(() => splitSamples({ samples: 9 }, { train: 0.9, validation: 0.2 })).toThrow(/^shares: .*sum is 1/);
  expect(() => splitSamples({ samples: 9 }, { train: 1, validation: 0 })).toThrow(/^shares\.validation/);
});
