import fc from 'fast-check';
import { expect } from 'vitest';
import type { MetadataContainer, ObjectStat } from '@tiered/core';
import { ABSENT } from '@tiered/core/internal';
import { hashOfString } from '../../src/namespace/key-hash.js';

/** The number of tiers in these tests. */
export const SOURCE = 2;

/** An entry as a plain object. */
export type Entry = ObjectStat & { level: number; direct: boolean; isGone?: boolean };

export const stat = (key: string, size: number, version = 'v1'): ObjectStat => ({ key, size, version });

/** What must be true of a container, compared with a plain map that went through the same changes. */
export function expectEqual(container: MetadataContainer, model: ReadonlyMap<string, Entry>): void {
  const entries = [...model.values()];
  const known = entries.filter(({ isGone }) => isGone !== true);
  expect(container.count).toBe(model.size);
  expect(container.known).toBe(known.length);
  const bytesOf = (some: readonly Entry[]) => some.reduce((sum, { size }) => sum + size, 0);
  expect(container.bytes).toBe(bytesOf(known));
  const atSource = known.filter(({ level }) => level === container.sourceLevel);
  expect(container.sourceBytes).toBe(bytesOf(atSource));
  const described = entries.map((_, id) => ({
    ...container.describe(id),
    direct: container.directLevelOf(id) === container.levelOf(id),
    ...(!container.isKnown(id) && { isGone: true }),
  }));
  expect(described).toEqual(entries);
  expect(entries.map(({ key }) => container.find(key))).toEqual(
    entries.map(({ isGone }, id) => (isGone === true ? ABSENT : id)),
  );
}

/** Distinct keys of which the first two have equal hashes, and so on: found by trying. */
export function equalHashes(pairs: number): [string, string][] {
  const seen = new Map<number, string>();
  const found: [string, string][] = [];
  for (let i = 0; found.length < pairs; i++) {
    const key = `train/${i}`;
    const hash = hashOfString(key);
    const other = seen.get(hash);
    if (other === undefined) seen.set(hash, key);
    else found.push([other, key]);
  }
  return found;
}

const awkward = [
  ...equalHashes(3).flat(),
  '',
  '__proto__',
  'constructor',
  'train/n01440764/a.JPEG',
  'train/n01440764/a.JPE',
  'train/n01440764/a.JPEH',
  '\0',
  '\u00ff',
  '\u0100',
  'caf\u00e9',
  'cafe\u0301',
  '\u8a13\u7df4/\u732b.png',
  '\u8a13\u7df4/\u72ac.png',
  '\ud83d\ude00',
  // Half a character, which storage never names but a listing may hold.
  '\ud83d',
  'x'.repeat(63),
  'x'.repeat(64),
  'x'.repeat(5000),
  `${'x'.repeat(4999)}y`,
];

/** Keys and versions of every kind, many of them the same. */
export const texts = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...awkward) },
  fc.string(),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

/** Objects as a driver describes them. */
export const objects = fc.record({ key: texts, size: fc.nat({ max: 2 ** 40 }), version: texts });
