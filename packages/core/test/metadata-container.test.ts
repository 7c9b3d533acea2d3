import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { MetadataContainer, isTieredError } from '@tiered/core';
import { ABSENT } from '@tiered/core/internal';
import { expectEqual, objects, SOURCE, stat, texts, type Entry } from './namespace/namespaces.js';

const changes = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('put' as const), object: objects }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('level' as const),
      which: fc.nat(),
      level: fc.nat({ max: SOURCE - 1 }),
      direct: fc.boolean(),
    }),
  },
  fc.record({ do: fc.constant('remove' as const), which: fc.nat() }),
  fc.record({ do: fc.constant('find' as const), key: texts }),
  fc.record({ do: fc.constant('image' as const) }),
  fc.record({ do: fc.constant('restore' as const) }),
);

const atSource = (model: ReadonlyMap<string, Entry>) =>
  new Map([...model].map(([key, entry]) => [key, { ...entry, level: SOURCE, direct: true }]));

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

  it('holds what a plain map would hold after any changes, and its images what it held when they were taken', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(changes, { maxLength: 60 }), async (all) => {
        let tested = new MetadataContainer(SOURCE);
        let model = new Map<string, Entry>();
        const images: [ReturnType<MetadataContainer['image']>, Map<string, Entry>][] = [];
        const checkImages = async () => {
          for (const [image, then] of images.splice(0))
            expectEqual(await MetadataContainer.restore(image, SOURCE, undefined), then);
        };
        for (const change of all) {
          if (change.do === 'put') {
            const { object } = change;
            const known = model.get(object.key);
            const id = tested.put(object);
            model.set(object.key, {
              ...object,
              level: known?.level ?? SOURCE,
              direct: known?.direct ?? true,
            });
            expect(id).toBe([...model.keys()].indexOf(object.key));
          } else if (change.do === 'remove' && model.size > 0) {
            const id = change.which % model.size;
            const entry = [...model.values()][id];
            // Who removes an object has taken its copy out of service.
            tested.setLevel(id, SOURCE);
            tested.remove(id);
            Object.assign(entry ?? {}, { size: 0, level: SOURCE, direct: true, isGone: true });
          } else if (change.do === 'level' && model.size > 0) {
            const id = change.which % model.size;
            if (!tested.isKnown(id)) continue;
            tested.setLevel(id, change.level, change.direct);
            Object.assign([...model.values()][id] ?? {}, { level: change.level, direct: change.direct });
          } else if (change.do === 'find') {
            const isGone = model.get(change.key)?.isGone === true;
            expect(tested.find(change.key)).toBe(isGone ? ABSENT : [...model.keys()].indexOf(change.key));
          } else if (change.do === 'image') {
            images.push([tested.image(), atSource(model)]);
          } else if (change.do === 'restore') {
            // The pages are the new container's from now on, which knows nothing of other images.
            await checkImages();
            tested = await MetadataContainer.restore(tested.image(), SOURCE, undefined);
            model = atSource(model);
          }
        }
        expectEqual(tested, model);
        await checkImages();
      }),
    );
  });

  it('finds every entry at every moment while it grows, and nothing else', () => {
    for (let count = 1; count <= 7000; count++) {
      container.put(stat(`shard/${count}`, 1));
      for (const known of [1, Math.ceil(count / 2), Math.max(1, count - 1024), count])
        expect(container.find(`shard/${known}`)).toBe(known - 1);
      expect(container.find(`shard/${count + 1}`)).toBe(ABSENT);
    }
  });

  it('grows past the borders of its pages without losing an entry', () => {
    const model = new Map<string, Entry>();
    const add = (key: string, version: string) => {
      const entry = { ...stat(key, 2 ** 33 + model.size, version), level: model.size % 3, direct: true };
      container.setLevel(container.put(entry), entry.level);
      model.set(key, entry);
    };
    // More records than a page of 1 MiB holds, of lengths that do not divide it.
    for (let i = 0; i < 40; i++) add(`${'x'.repeat(32_700)}${i}`, 'v'.repeat(i * 100));
    // More entries than the 64 Ki of a page of a column.
    for (let i = 0; i < 66_000; i++) add(`shard/${i}`, `v${i % 7}`);
    expectEqual(container, model);
  });

  it('a new object is at the level of the source', () => {
    const id = container.put(stat('a', 1));
    expect([container.levelOf(id), container.directLevelOf(id)]).toEqual([SOURCE, SOURCE]);
    const withoutTiers = new MetadataContainer(0);
    expect(withoutTiers.levelOf(withoutTiers.put(stat('a', 1)))).toBe(0);
  });

  it('what is only a part, or not verified yet, has a level, and is not read from it directly', () => {
    const id = container.put(stat('a', 1));
    container.setLevel(id, 1, false);
    expect([container.levelOf(id), container.directLevelOf(id)]).toEqual([1, SOURCE]);
    container.setLevel(id, 1);
    expect([container.levelOf(id), container.directLevelOf(id)]).toEqual([1, 1]);
    container.setLevel(id, SOURCE);
    expect([container.levelOf(id), container.directLevelOf(id)]).toEqual([SOURCE, SOURCE]);
  });

  it('renews size and version of a known object, in the sum too, and keeps its id and its level', () => {
    const id = container.put(stat('a', 100));
    container.put(stat('b', 7));
    container.setLevel(id, 0);
    expect(container.put(stat('a', 30, 'a longer version'))).toBe(id);
    expect(container.describe(id)).toEqual({ key: 'a', size: 30, version: 'a longer version', level: 0 });
    expect(container.count).toBe(2);
    expect(container.bytes).toBe(37);
    container.put(stat('a', 0, 'v3'));
    expect(container.describe(id)).toEqual({ key: 'a', size: 0, version: 'v3', level: 0 });
    expect(container.bytes).toBe(7);
  });

  it('an object that is renewed for ever leaves behind no more than a few records', () => {
    const longest = 500;
    const key = 'k'.repeat(40);
    for (let i = 0; i < 20_000; i++) container.put(stat(key, i, 'v'.repeat(1 + (i % longest))));
    const record = 10 + key.length + 2 * longest + 4;
    expect(container.image().recordBytes).toBeLessThanOrEqual((Math.ceil(Math.log2(longest)) + 2) * record);
  });

  it('holds sizes beyond 32 bits exactly', () => {
    const id = container.put(stat('huge', Number.MAX_SAFE_INTEGER - 1));
    container.put(stat('one', 1));
    expect(container.sizeOf(id)).toBe(Number.MAX_SAFE_INTEGER - 1);
    expect(container.bytes).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('has room for levels up to 63, and refuses a source beyond', () => {
    const deep = new MetadataContainer(63);
    const id = deep.put(stat('a', 1));
    expect(deep.levelOf(id)).toBe(63);
    deep.setLevel(id, 62, false);
    expect([deep.levelOf(id), deep.directLevelOf(id)]).toEqual([62, 63]);
    expect(() => new MetadataContainer(64)).toThrow();
    expect(() => new MetadataContainer(-1)).toThrow();
  });

  it.each([-1, SOURCE + 1])('refuses the level %d and leaves the entry as it was', (level) => {
    const id = container.put(stat('a', 1));
    expect(() => container.setLevel(id, level)).toThrow();
    expect(container.levelOf(id)).toBe(SOURCE);
  });

  it.each([
    ['a key of 32,768 characters', stat('k'.repeat(32_768), 1)],
    ['a version of 32,768 characters', stat('a', 1, 'v'.repeat(32_768))],
    ['a negative size', stat('a', -1)],
    ['half a byte', stat('a', 0.5)],
    ['a size above 2^53 - 1', stat('a', 2 ** 53)],
  ])('refuses %s, and is as it was', (_, object) => {
    expect(() => container.put(object)).toThrow(TypeError);
    expect([container.count, container.bytes, container.find(object.key)]).toEqual([0, 0, ABSENT]);
  });

  it('holds keys and versions of up to 32,767 characters of two bytes', () => {
    const [key, version] = ['\u8a13'.repeat(32_767), '\u7df4'.repeat(32_767)];
    const id = container.put(stat(key, 1));
    container.put(stat(key, 2, version));
    expect(container.describe(id)).toEqual({ key, size: 2, version, level: SOURCE });
    expect(container.find(key)).toBe(id);
  });

  it.each([ABSENT, 1, 1023, 1024, 65_536])('refuses the id %d, which it never gave out, as a bug', (id) => {
    container.put(stat('a', 1));
    const uses: [string, () => unknown][] = [
      ['keyOf', () => container.keyOf(id)],
      ['sizeOf', () => container.sizeOf(id)],
      ['versionOf', () => container.versionOf(id)],
      ['levelOf', () => container.levelOf(id)],
      ['directLevelOf', () => container.directLevelOf(id)],
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
