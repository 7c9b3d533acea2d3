import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { isTieredError, type ObjectStat } from '@tiered/core';
import { ABSENT } from '@tiered/core/internal';
// Only its type is exported: a hierarchy makes its own.
import { MetadataContainer } from '../src/metadata-container.js';

const SOURCE = 2;
const stat = (key: string, size: number, version = 'v1'): ObjectStat => ({ key, size, version });

type Entry = ObjectStat & { level: number };

/** What must be true of a container, compared with a plain map that went through the same changes. */
function expectEqual(container: MetadataContainer, model: ReadonlyMap<string, Entry>): void {
  const entries = [...model.values()];
  expect(container.count).toBe(model.size);
  expect(container.bytes).toBe(entries.reduce((sum, { size }) => sum + size, 0));
  expect(entries.map((_, id) => container.describe(id))).toEqual(entries);
  expect(entries.map(({ key }) => container.find(key))).toEqual([...entries.keys()]);
}

const keys = fc.oneof(
  fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'),
  fc.string({ minLength: 1 }),
);
const puts = fc.record({
  do: fc.constant('put' as const),
  key: keys,
  size: fc.nat({ max: 2 ** 40 }),
  version: fc.string(),
});
const levels = fc.record({
  do: fc.constant('level' as const),
  which: fc.nat(),
  level: fc.nat({ max: SOURCE }),
});

describe('MetadataContainer', () => {
  let container: MetadataContainer;
  beforeEach(() => {
    container = new MetadataContainer(SOURCE);
  });

  it('is empty at first', () => {
    expect(container.count).toBe(0);
    expect(container.bytes).toBe(0);
    expect(container.find('a')).toBe(ABSENT);
  });

  it('holds what a plain map would hold, after any changes', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(puts, levels), { maxLength: 60 }), (changes) => {
        const tested = new MetadataContainer(SOURCE);
        const model = new Map<string, Entry>();
        for (const change of changes) {
          if (change.do === 'put') {
            const { key, size, version } = change;
            const known = model.get(key);
            const id = tested.put({ key, size, version });
            model.set(key, { key, size, version, level: known?.level ?? SOURCE });
            expect(id).toBe([...model.keys()].indexOf(key));
          } else if (model.size > 0) {
            const id = change.which % model.size;
            tested.setLevel(id, change.level);
            const entry = [...model.values()][id];
            if (entry !== undefined) entry.level = change.level;
          }
        }
        expectEqual(tested, model);
      }),
    );
  });

  it('grows past its first 1,024 entries, and twice more, without losing one', () => {
    const model = new Map<string, Entry>();
    for (let i = 0; i < 5000; i++) {
      const entry: Entry = { ...stat(`shard/${i}`, 2 ** 33 + i, `v${i % 7}`), level: i % 3 };
      container.setLevel(container.put(entry), entry.level);
      model.set(entry.key, entry);
    }
    expectEqual(container, model);
  });

  it('the ids of entries stay the same while it grows', () => {
    const first = container.put(stat('first', 1));
    for (let i = 0; i < 3000; i++) container.put(stat(`${i}`, 1));
    expect(container.find('first')).toBe(first);
    expect(container.keyOf(first)).toBe('first');
  });

  it('a new object is at the level of the source', () => {
    expect(container.levelOf(container.put(stat('a', 1)))).toBe(SOURCE);
    const withoutTiers = new MetadataContainer(0);
    expect(withoutTiers.levelOf(withoutTiers.put(stat('a', 1)))).toBe(0);
  });

  it('renews size and version of a known object, in the sum too, and keeps its id and its level', () => {
    const id = container.put(stat('a', 100));
    container.put(stat('b', 7));
    container.setLevel(id, 0);
    expect(container.put(stat('a', 30, 'v2'))).toBe(id);
    expect(container.describe(id)).toEqual({ key: 'a', size: 30, version: 'v2', level: 0 });
    expect(container.count).toBe(2);
    expect(container.bytes).toBe(37);
    container.put(stat('a', 0, 'v3'));
    expect(container.bytes).toBe(7);
  });

  it('holds sizes beyond 32 bits exactly', () => {
    const id = container.put(stat('huge', Number.MAX_SAFE_INTEGER - 1));
    container.put(stat('one', 1));
    expect(container.sizeOf(id)).toBe(Number.MAX_SAFE_INTEGER - 1);
    expect(container.bytes).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('has room for levels up to 127, and refuses a source beyond', () => {
    const deep = new MetadataContainer(127);
    expect(deep.levelOf(deep.put(stat('a', 1)))).toBe(127);
    expect(() => new MetadataContainer(128)).toThrow();
    expect(() => new MetadataContainer(-1)).toThrow();
  });

  it.each([-1, SOURCE + 1])('refuses the level %d and leaves the entry as it was', (level) => {
    const id = container.put(stat('a', 1));
    expect(() => container.setLevel(id, level)).toThrow();
    expect(container.levelOf(id)).toBe(SOURCE);
  });

  it.each([ABSENT, 1, 1023, 1024])('refuses the id %d, which it never gave out, as a bug', (id) => {
    container.put(stat('a', 1));
    const uses: [string, () => unknown][] = [
      ['keyOf', () => container.keyOf(id)],
      ['sizeOf', () => container.sizeOf(id)],
      ['versionOf', () => container.versionOf(id)],
      ['levelOf', () => container.levelOf(id)],
      ['describe', () => container.describe(id)],
      ['setLevel', () => container.setLevel(id, 0)],
    ];
    const accepted = uses.filter(([, use]) => {
      try {
        use();
        return true;
      } catch (error) {
        expect(isTieredError(error)).toBe(false);
        return false;
      }
    });
    expect(accepted.map(([name]) => name)).toEqual([]);
  });
});
