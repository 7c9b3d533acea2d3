import { Hierarchy, MemoryDriver, type ObjectStat, type StorageDriver } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RangesDriver } from '../../src/index.js';
import { sourceOf } from '../helpers.js';
import { errorWith } from './helpers.js';

async function listed(driver: StorageDriver, prefix?: string): Promise<ObjectStat[]> {
  const all: ObjectStat[] = [];
  for await (const page of driver.list({ prefix })) all.push(...page);
  return all;
}

async function opened(source: StorageDriver, bytes: number) {
  const ranges = new RangesDriver(source, { bytes });
  const keeper = new Hierarchy({ source: ranges });
  await keeper.open();
  const joined = ranges.joined(keeper);
  await joined.open({});
  return { ranges, keeper, joined };
}

describe('RangesDriver', () => {
  it('[Z10] shows ranges that are together what the object is', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(300),
        fc.integer({ min: 1, max: 120 }),
        fc.nat(320),
        fc.nat(320),
        async (size, bytes, offset, length) => {
          const object = someBytes(size, 7);
          const source = await sourceOf(new Map([['d/a', object]]));
          const { ranges, joined } = await opened(source, bytes);
          const all = await listed(ranges);
          expect(all).toHaveLength(Math.max(1, Math.ceil(size / bytes)));
          const parts: Uint8Array[] = [];
          for (const stat of all) {
            expect(await ranges.stat(stat.key, {})).toEqual(stat);
            // No read of a range gives bytes of the next one.
            const part = await ranges.read(stat.key, { offset: 0, length: stat.size + 9 });
            expect(part.byteLength).toBe(stat.size);
            parts.push(part);
          }
          expect(Buffer.concat(parts)).toEqual(Buffer.from(object));
          const { version } = await joined.stat('d/a', {});
          const wanted = Buffer.from(object.subarray(offset, offset + length));
          expect(Buffer.from(await joined.read('d/a', { offset, length, version }))).toEqual(wanted);
          expect(Buffer.from(await joined.read('d/a', { offset, length }))).toEqual(wanted);
        },
      ),
    );
  });

  it('lists by any prefix, that of a range too', async () => {
    const source = await sourceOf(
      new Map([
        ['d/a', someBytes(30, 1)],
        ['e', someBytes(5, 2)],
      ]),
    );
    const { ranges } = await opened(source, 10);
    const keys = async (prefix: string) => (await listed(ranges, prefix)).map(({ key }) => key);
    const names = ['d/a.tiered-range-10-1', 'd/a.tiered-range-10-2'];
    expect(await keys('d/')).toEqual(['d/a', ...names]);
    expect(await keys('d/a.')).toEqual(names);
    expect(await keys('d/a.tiered-range-10-2')).toEqual(names.slice(1));
  });

  it('[Z10] has no ranges of another size, beyond the end, or of ranges', async () => {
    const { ranges } = await opened(await sourceOf(new Map([['a', someBytes(20, 1)]])), 10);
    for (const name of ['20-1', '10-2', '10-01', '10-0', '10-9999999999999999', '10-1.tiered-range-10-1']) {
      const stat = ranges.stat(`a.tiered-range-${name}`, {});
      await expect(stat, name).rejects.toThrow(errorWith('TIERED_NOT_FOUND'));
    }
  });

  it('[Z10] leaves out an object whose key looks like the name of a range, and says so', async () => {
    const name = 'a.tiered-range-5-1';
    const source = await sourceOf(
      new Map([
        ['a', someBytes(20, 1)],
        [name, someBytes(3, 2)],
      ]),
    );
    const { joined, ranges } = await opened(source, 10);
    const left: string[] = [];
    const pages = joined.list({ leftOut: (key) => left.push(key) });
    for await (const page of pages) expect(page.map(({ key }) => key)).not.toContain(name);
    expect(left).toEqual([name]);
    expect((await listed(ranges)).map(({ key }) => key)).toEqual(['a', 'a.tiered-range-10-1']);
    await expect(joined.stat(name, {})).rejects.toThrow(errorWith('TIERED_KEY_INVALID'));
    const write = joined.write(name, new Uint8Array(1), { size: 1 });
    await expect(write).rejects.toThrow(errorWith('TIERED_KEY_INVALID'));
  });

  it('says that an object is missing, at its beginning and behind it', async () => {
    const { joined } = await opened(await sourceOf(new Map([['a', someBytes(20, 1)]])), 10);
    for (const offset of [0, 10, 100])
      await expect(joined.read('b', { offset, length: 5 })).rejects.toThrow(errorWith('TIERED_NOT_FOUND'));
  });

  it('is not written to, and is another source for copies and manifests', async () => {
    const source = new MemoryDriver();
    const ranges = new RangesDriver(source);
    await ranges.open({});
    const write = ranges.write('a', new Uint8Array(1), { size: 1 });
    await expect(write).rejects.toThrow(errorWith('TIERED_UNSUPPORTED'));
    await expect(ranges.delete('a', {})).rejects.toThrow(errorWith('TIERED_UNSUPPORTED'));
    expect(ranges.identity).not.toBe(new RangesDriver(source, { bytes: '1MiB' }).identity);
    expect(() => new RangesDriver(source, { bytes: 0 })).toThrow(errorWith('TIERED_CONFIG_INVALID'));
  });
});
