import { listSequence, shuffledSequence, type Access, type AccessSequence } from '@tiered/prefetch';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withCode } from '../helpers.js';

const someKeys = fc.array(fc.string(), { maxLength: 12 });
const seed = fc.maxSafeNat();
const epochs = fc.integer({ min: 1, max: 4 });

/** Either kind of sequence over some keys. */
const sequence = fc
  .tuple(someKeys, seed, epochs, fc.boolean())
  .map(([keys, s, n, shuffled]) =>
    shuffled ? shuffledSequence(keys, { seed: s, epochs: n }) : listSequence(keys, { epochs: n }),
  );

/** Every access, each asked for by itself. */
function eachAt(accesses: AccessSequence): Access[] {
  const { epochs: count, epochLength } = accesses;
  return Array.from({ length: count * epochLength }, (_, i) =>
    accesses.at(Math.floor(i / epochLength), i % epochLength),
  );
}

describe('any sequence', () => {
  it('says the same by at(), by from() and when iterated, as often as it is asked', () => {
    fc.assert(
      fc.property(sequence, (accesses) => {
        const all = eachAt(accesses);
        expect([...accesses]).toEqual(all);
        expect([...accesses.from(0, 0)]).toEqual(all);
        expect([...accesses]).toEqual(all);
        for (const [i, { epoch, position }] of all.entries())
          expect(epoch * accesses.epochLength + position).toBe(i);
      }),
    );
  });

  it('can be resumed anywhere: from() gives the tail', () => {
    fc.assert(
      fc.property(sequence, fc.nat(), fc.nat(), (accesses, e, p) => {
        const epoch = e % accesses.epochs;
        const position = p % (accesses.epochLength + 1);
        const tail = [...accesses].slice(epoch * accesses.epochLength + position);
        expect([...accesses.from(epoch, position)]).toEqual(tail);
      }),
    );
  });

  it('gives the same accesses in whatever order they are asked for', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string(), { minLength: 1, maxLength: 8 }),
        seed,
        fc.array(fc.tuple(fc.nat(5), fc.nat()), { maxLength: 60 }),
        (keys, s, asked) => {
          const sequenceOf = () => shuffledSequence(keys, { seed: s, epochs: 6 });
          const expected = [...sequenceOf()];
          const jumping = sequenceOf();
          for (const [epoch, p] of asked) {
            const position = p % keys.length;
            expect(jumping.at(epoch, position)).toEqual(expected[epoch * keys.length + position]);
          }
        },
      ),
    );
  });

  it('keeps its own copy of the keys, and takes them from anything that can be iterated', () => {
    const keys = ['a', 'b', 'c'];
    const list = listSequence(keys);
    const shuffled = shuffledSequence(keys, { seed: 1 });
    const before = [...shuffled];
    keys.reverse();
    keys.push('d');
    expect([...list].map(({ key }) => key)).toEqual(['a', 'b', 'c']);
    expect([...shuffled]).toEqual(before);
    expect(listSequence(new Set(['x', 'y'])).epochLength).toBe(2);
  });

  it('seeks without walking there: the last access of a long run comes at once', () => {
    const keys = ['a', 'b', 'c'];
    const epochCount = Number.MAX_SAFE_INTEGER - 1;
    const shuffled = shuffledSequence(keys, { seed: 5, epochs: epochCount });
    const last = { epoch: epochCount - 1, position: 2 };
    expect([...shuffled.from(last.epoch, last.position)]).toEqual([shuffled.at(last.epoch, last.position)]);
  });
});

describe('a shuffled sequence', () => {
  it('[S1] reads every key once an epoch, in an order that depends on seed and epoch alone', () => {
    fc.assert(
      fc.property(someKeys, seed, epochs, (keys, s, n) => {
        const accesses = [...shuffledSequence(keys, { seed: s, epochs: n })];
        const longer = [...shuffledSequence(keys, { seed: s, epochs: n + 1 })];
        expect(longer.slice(0, accesses.length)).toEqual(accesses);
        for (let epoch = 0; epoch < n; epoch++) {
          const read = accesses.filter((access) => access.epoch === epoch).map(({ key }) => key);
          expect(read.sort()).toEqual([...keys].sort());
        }
      }),
    );
  });

  it('has another order with another seed, and in another epoch', () => {
    const keys = Array.from({ length: 50 }, (_, i) => `${i}`);
    const orders = [1, 2, 3].flatMap((s) => {
      const accesses = [...shuffledSequence(keys, { seed: s, epochs: 3 })];
      return [0, 1, 2].map((epoch) =>
        accesses
          .filter((access) => access.epoch === epoch)
          .map(({ key }) => key)
          .join(),
      );
    });
    expect(new Set(orders).size).toBe(9);
  });
});

it('a list is read in its own order in every epoch, keys that occur twice too', () => {
  const accesses = [...listSequence(['b', 'a', 'b'], { epochs: 2 })];
  expect(accesses).toEqual([
    { key: 'b', epoch: 0, position: 0 },
    { key: 'a', epoch: 0, position: 1 },
    { key: 'b', epoch: 0, position: 2 },
    { key: 'b', epoch: 1, position: 0 },
    { key: 'a', epoch: 1, position: 1 },
    { key: 'b', epoch: 1, position: 2 },
  ]);
});

it('of no keys, or at the end of an epoch, there is nothing left of the epoch', () => {
  expect([...listSequence([], { epochs: 3 })]).toEqual([]);
  expect([...shuffledSequence([], { seed: 1, epochs: 3 })]).toEqual([]);
  const two = listSequence(['a', 'b'], { epochs: 2 });
  expect([...two.from(0, 2)].map(({ epoch }) => epoch)).toEqual([1, 1]);
  expect([...two.from(1, 2)]).toEqual([]);
});

describe('TIERED_CONFIG_INVALID', () => {
  const invalid = withCode('TIERED_CONFIG_INVALID');

  it.each([0, -1, 1.5, NaN, Infinity, '3' as unknown as number])('for %s epochs', (count) => {
    expect(() => listSequence(['a'], { epochs: count })).toThrow(invalid);
    expect(() => shuffledSequence(['a'], { epochs: count, seed: 1 })).toThrow(invalid);
  });

  it.each([-1, 0.5, NaN, 2 ** 53, undefined as unknown as number])('for the seed %s', (s) => {
    expect(() => shuffledSequence(['a'], { seed: s })).toThrow(invalid);
  });

  it.each([
    [-1, 0],
    [2, 0],
    [0, -1],
    [0, 3],
    [0.5, 0],
    [0, 0.5],
    [NaN, 0],
    [0, NaN],
  ])('for an access at epoch %s, position %s of 2 epochs of 3 keys', (epoch, position) => {
    const keys = ['a', 'b', 'c'];
    expect(() => listSequence(keys, { epochs: 2 }).at(epoch, position)).toThrow(invalid);
    expect(() => shuffledSequence(keys, { epochs: 2, seed: 1 }).at(epoch, position)).toThrow(invalid);
  });
});
