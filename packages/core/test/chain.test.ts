import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Chain, type Link } from '../src/support/chain.js';

it('keeps the order in which values came, whichever are taken out', () => {
  const step = fc.oneof(fc.constant('add' as const), fc.nat(20));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const chain = new Chain<number>();
      const links: Link<number>[] = [];
      let model: number[] = [];
      for (const one of steps) {
        if (one === 'add') {
          links.push(chain.add(links.length));
          model.push(links.length - 1);
          continue;
        }
        const link = links[one];
        if (link === undefined) continue;
        expect(chain.remove(link)).toBe(model.includes(one));
        model = model.filter((value) => value !== one);
      }
      expect(chain.size).toBe(model.length);
      expect(drained(chain)).toEqual(model);
    }),
  );
});

it('lets go of what was taken out', () => {
  const chain = new Chain<string>();
  const [first, second, third] = [chain.add('a'), chain.add('b'), chain.add('c')];
  chain.remove(second);
  expect(second).toMatchObject({ before: undefined, after: undefined });
  expect(first.after).toBe(third);
  expect(third.before).toBe(first);
});

function drained<T>(chain: Chain<T>): T[] {
  const values: T[] = [];
  for (let next = chain.first; next !== undefined; next = chain.first) {
    values.push(next.value);
    chain.remove(next);
  }
  return values;
}
