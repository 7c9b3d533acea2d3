import fc from 'fast-check';
import { expect, it } from 'vitest';
import { copyName, newTag, tagOf } from '../src/tier/copy-name.js';

const TAGS = 2 ** 40;
const tag = fc.nat({ max: TAGS - 1 });
const piece = fc.constantFrom(
  '..',
  '.',
  '',
  '.tiered',
  '.TIERED',
  'A',
  'a',
  '^a',
  '%41',
  '@',
  '@00000000',
  'é',
  'e\u0301',
  '\u{1F600}',
  '%long',
);
const key = fc
  .oneof(
    fc.string({ minLength: 1, unit: 'binary' }),
    fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join('/')),
    fc.string({ minLength: 200, maxLength: 1024, unit: 'grapheme' }),
  )
  .filter((one) => one.length > 0 && one.isWellFormed() && !one.includes('\0'));

it('a copy has a name that every file system takes, and that no directory is called by', () => {
  fc.assert(
    fc.property(key, tag, (one, number) => {
      const name = copyName(one, number);
      expect(name).toMatch(/^[a-z0-9._/@%^-]+$/);
      for (const segment of name.split('/')) {
        expect(['', '.', '..', '.tiered']).not.toContain(segment);
        expect(segment.length).toBeLessThanOrEqual(255);
      }
      expect(name.length).toBeLessThanOrEqual(1024);
      // Only the last segment has a tag, so that no copy is where another one has a directory.
      expect(name.slice(0, name.lastIndexOf('/') + 1)).not.toContain('@');
      expect(tagOf(name)).toBe(number);
    }),
    { numRuns: 2000 },
  );
});

it('keys that are not the same have names that are not, under the same tag, unless they are too long for names', () => {
  const short = key.filter((one) => Buffer.byteLength(one) < 60);
  fc.assert(
    fc.property(short, short, tag, (one, other, number) => {
      expect(copyName(one, number) === copyName(other, number)).toBe(one === other);
    }),
    { numRuns: 5000 },
  );
});

it('tags are whole numbers of 40 bits', () => {
  for (let i = 0; i < 1000; i++) {
    const number = newTag();
    expect(Number.isInteger(number) && number >= 0 && number < TAGS).toBe(true);
  }
});
