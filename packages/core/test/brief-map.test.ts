import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BriefMap } from '../src/support/brief-map.js';

it('is what a Map is', () => {
  const step = fc.record({ key: fc.nat(8), value: fc.option(fc.nat(), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const brief = new BriefMap<number, { readonly value: number }>();
      const model = new Map<number, { readonly value: number }>();
      for (const { key, value } of steps) {
        if (value === undefined) expect(brief.delete(key)).toBe(model.delete(key));
        else {
          brief.set(key, { value });
          model.set(key, { value });
        }
        expect(brief.size).toBe(model.size);
        expect(brief.get(key)).toEqual(model.get(key));
        expect(brief.has(key)).toBe(model.has(key));
      }
      expect(brief.keys()).toEqual([...model.keys()]);
      expect(brief.values()).toEqual([...model.values()]);
    }),
  );
});
