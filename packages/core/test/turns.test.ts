import fc from 'fast-check';
import { expect, it } from 'vitest';
import { settled } from '../src/testing/index.js';
import { Turns } from '../src/turns.js';

it('does so much at a time, in the order in which it came, whatever fails and however the number changes', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('run' as const) }),
    fc.record({ do: fc.constant('end' as const), fails: fc.boolean() }),
    fc.record({ do: fc.constant('most' as const), most: fc.integer({ min: 1, max: 5 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const turns = new Turns(2);
      const begun: number[] = [];
      const underWay: ((fails: boolean) => void)[] = [];
      const ended: Promise<string>[] = [];
      for (const one of steps) {
        if (one.do === 'run') {
          const number = ended.length;
          const work = () =>
            new Promise<string>((resolve, reject) => {
              begun.push(number);
              underWay.push((fails) => (fails ? reject(new Error(`failed ${number}`)) : resolve('done')));
            });
          ended.push(turns.run(work).catch((error: unknown) => String(error)));
        } else if (one.do === 'end') underWay.shift()?.(one.fails);
        else turns.most = one.most;
        await settled();
        const left = ended.length - begun.length;
        expect(turns.waiting).toBe(left);
        if (left > 0) expect(underWay.length).toBeGreaterThanOrEqual(turns.most);
      }
      while (underWay.length > 0) {
        underWay.shift()?.(false);
        await settled();
      }
      expect(begun).toEqual(ended.map((_, number) => number));
      for (const [number, result] of (await Promise.all(ended)).entries())
        expect(['done', `Error: failed ${number}`]).toContain(result);
    }),
  );
});

it('never does more at a time than it is to', async () => {
  const turns = new Turns(3);
  let [now, most] = [0, 0];
  const work = async () => {
    now += 1;
    most = Math.max(most, now);
    await settled();
    now -= 1;
  };
  await Promise.all(Array.from({ length: 50 }, () => turns.run(work)));
  expect(most).toBe(3);
});
