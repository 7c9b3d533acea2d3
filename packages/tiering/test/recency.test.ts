import { Recency } from '@tiered/tiering/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const id = fc.oneof(fc.nat(20), fc.nat(3000));
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant('touch' as const), id, bytes: fc.nat(1000) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('forget' as const), id }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('oldest' as const) }) },
);

describe('Recency', () => {
  it('gives what was touched longest ago, each once, whatever was forgotten in between', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
        const recency = new Recency();
        // A map keeps the order in which keys came.
        const model = new Map<number, number>();
        let largest = 0;
        const takeOldest = () => {
          const [oldest] = model;
          if (oldest !== undefined) model.delete(oldest[0]);
          expect(recency.oldest()).toEqual(oldest && { id: oldest[0], bytes: oldest[1] });
        };
        for (const one of steps) {
          if (one.what === 'oldest') takeOldest();
          else {
            model.delete(one.id);
            if (one.what === 'forget') recency.forget(one.id);
            else {
              recency.touch(one.id, one.bytes);
              model.set(one.id, one.bytes);
              largest = Math.max(largest, one.bytes);
            }
          }
          expect(recency.largest).toBe(largest);
        }
        while (model.size > 0) takeOldest();
        takeOldest();
      }),
    );
  });

  it('has room for as many as come, also after all have gone', () => {
    const recency = new Recency();
    for (let round = 0; round < 2; round++) {
      for (let one = 999; one >= 0; one--) recency.touch(one, one);
      for (let one = 999; one >= 0; one--) expect(recency.oldest()).toEqual({ id: one, bytes: one });
      expect(recency.oldest()).toBeUndefined();
    }
  });
});
