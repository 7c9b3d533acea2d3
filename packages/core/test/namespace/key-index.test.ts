import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MetadataContainer } from '@tiered/core';
import { ABSENT } from '@tiered/core/internal';
import { hashOfNarrow, hashOfString, hashOfWide } from '../../src/namespace/key-hash.js';
import { equalHashes, SOURCE, stat, texts } from './namespaces.js';

/** Keys whose search begins at the last of the 1,024 slots of the smallest table. */
function keysAtTheEnd(count: number): string[] {
  const keys: string[] = [];
  for (let i = 0; keys.length < count; i++)
    if (hashOfString(`key ${i}`) >>> 22 === 1023) keys.push(`key ${i}`);
  return keys;
}

function filledWith(keys: readonly string[]): MetadataContainer {
  const container = new MetadataContainer(SOURCE);
  for (const key of keys) container.put(stat(key, 1));
  return container;
}

describe('the hash of a key', () => {
  it('is the same for a string and for its bytes, one or two a character', () => {
    fc.assert(
      fc.property(texts, fc.nat({ max: 3 }), (text, before) => {
        const wide = Buffer.concat([Buffer.alloc(before), Buffer.from(text, 'utf16le')]);
        expect(hashOfWide(wide, before, text.length)).toBe(hashOfString(text));
        const narrow = Buffer.concat([Buffer.alloc(before), Buffer.from(text, 'latin1')]);
        expect(hashOfNarrow(narrow, before, text.length)).toBe(
          hashOfString(narrow.toString('latin1', before)),
        );
      }),
    );
  });

  it.each([
    ['numbers', (i: number) => String(i)],
    ['shards', (i: number) => `train-${String(i).padStart(5, '0')}-of-65536.tfrecord`],
    ['images', (i: number) => `train/n${String(i % 1000).padStart(8, '0')}/${i}.JPEG`],
    [
      'wide characters',
      (i: number) => `\u8a13\u7df4/${String.fromCharCode(0x4e00 + (i >> 4), 0x4e00 + (i & 15))}`,
    ],
  ])('spreads %s as chance would', (_, keyOf) => {
    const [high, low] = [new Set<number>(), new Set<number>()];
    for (let i = 0; i < 65_536; i++) {
      const hash = hashOfString(keyOf(i));
      high.add(hash >>> 16);
      low.add(hash & 0xffff);
    }
    // Of 65,536 drawn with replacement, 1 - 1/e are different: 41,427, with a deviation of 104.
    for (const values of [high, low]) expect(values.size).toBeGreaterThan(41_427 - 6 * 104);
  });
});

describe('keys that meet in the index', () => {
  it('are told apart though all 32 bits of their hashes are equal', () => {
    const pairs = equalHashes(8);
    const container = filledWith(pairs.map(([one]) => one));
    for (const [id, [one, other]] of pairs.entries()) {
      expect(hashOfString(one)).toBe(hashOfString(other));
      expect([container.find(one), container.find(other)]).toEqual([id, ABSENT]);
    }
    for (const [i, [one, other]] of pairs.entries()) {
      expect(container.put(stat(other, 2, 'other'))).toBe(8 + i);
      expect([container.find(one), container.find(other)]).toEqual([i, 8 + i]);
    }
    expect(container.count).toBe(16);
  });

  it('are found though the search for them begins at the last slot and goes on at the first', () => {
    const keys = keysAtTheEnd(201);
    const container = filledWith(keys.slice(0, 200));
    expect(keys.map((key) => container.find(key))).toEqual([...Array(200).keys(), ABSENT]);
  });

  it('are found after the table has grown over them many times', () => {
    const keys = [...equalHashes(8).flat(), ...keysAtTheEnd(200)];
    const container = filledWith(keys);
    for (let i = 0; i < 20_000; i++) container.put(stat(`more ${i}`, 1));
    expect(keys.map((key) => container.find(key))).toEqual([...keys.keys()]);
  });
});
