import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CoveringRanges, type Span } from '../src/source/covering-ranges.js';

const span = fc.record({ offset: fc.nat(30), length: fc.integer({ min: 1, max: 30 }) });
const change = fc.oneof(
  fc.record({ add: span }),
  fc.record({ remove: fc.nat(20) }),
  fc.record({ find: span }),
);

function covers(range: Span, { offset, length }: Span): boolean {
  return range.offset <= offset && range.offset + range.length >= offset + length;
}

it('[F1] finds a range that covers another one exactly if there is one, as a search of all does', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const ranges = new CoveringRanges<Span>();
      const all: Span[] = [];
      for (const next of changes) {
        if ('add' in next) {
          all.push(next.add);
          ranges.add(next.add);
        } else if ('remove' in next) {
          const [gone] = all.splice(next.remove % Math.max(1, all.length), 1);
          if (gone === undefined) continue;
          expect(ranges.remove(gone)).toBe(true);
          expect(ranges.remove(gone)).toBe(false);
        } else {
          const found = ranges.find(next.find);
          expect(found !== undefined).toBe(all.some((range) => covers(range, next.find)));
          if (found === undefined) continue;
          expect(all).toContain(found);
          expect(covers(found, next.find)).toBe(true);
        }
        expect(ranges.isEmpty).toBe(all.length === 0);
      }
    }),
    { examples: [[[{ add: { offset: 7, length: 2 } }, { find: { offset: 7, length: 2 } }]]] },
  );
});

/** A range that counts how often somebody looks at it. */
class Watched implements Span {
  static looks = 0;
  readonly length = 10;
  readonly #offset: number;

  constructor(offset: number) {
    this.#offset = offset;
  }

  get offset(): number {
    Watched.looks += 1;
    return this.#offset;
  }
}

it.each(['apart', 'overlapping'])('looks at few of 4,000 ranges that are %s for each of them', (how) => {
  const ranges = new CoveringRanges<Span>();
  const step = how === 'apart' ? 20 : 1;
  const all = Array.from({ length: 4000 }, (_, i) => new Watched(((i * 1021) % 4000) * step));
  Watched.looks = 0;
  for (const range of all) if (ranges.find(range) === undefined) ranges.add(range);
  for (const range of all) ranges.remove(range);
  expect(Watched.looks / all.length).toBeLessThan(20);
});
