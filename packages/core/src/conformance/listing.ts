import assert from 'node:assert/strict';
import { assertCode, listKeys, openTest, type ConformanceTest } from './subject.js';
import { someBytes } from '../testing/some-bytes.js';

/** Tests of listing and usage. */
export const listing: readonly ConformanceTest[] = [
  openTest(
    'list() gives every object once, as stat() describes it, or is refused',
    async ({ driver, put }) => {
      if (!driver.capabilities.list) return assertCode(listKeys(driver), 'TIERED_UNSUPPORTED');
      assert.deepEqual(await listKeys(driver), []);
      const keys = ['b', 'a/1', 'a/2', 'a-b', 'c/d/e/f'];
      for (const [i, key] of keys.entries()) await put(key, someBytes(10 * i, i));
      assert.deepEqual(await listKeys(driver), [...keys].sort());
      for await (const page of driver.list({})) {
        for (const object of page) assert.deepEqual(object, await driver.stat(object.key, {}));
      }
    },
  ),
  openTest('list() keeps to a prefix, which need not end where a name does', async ({ driver, put }) => {
    if (!driver.capabilities.list) return assertCode(listKeys(driver, 'a'), 'TIERED_UNSUPPORTED');
    for (const key of ['train/cat-1', 'train/cat-2', 'train/dog-1', 'trainer', 'test/cat-1'])
      await put(key, someBytes(1, 1));
    assert.deepEqual(await listKeys(driver, 'train/'), ['train/cat-1', 'train/cat-2', 'train/dog-1']);
    assert.deepEqual(await listKeys(driver, 'train/cat'), ['train/cat-1', 'train/cat-2']);
    assert.deepEqual(await listKeys(driver, 'tr'), ['train/cat-1', 'train/cat-2', 'train/dog-1', 'trainer']);
    assert.deepEqual(await listKeys(driver, 'nothing/'), []);
    assert.deepEqual(await listKeys(driver, '../'), []);
  }),
  openTest(
    'list() gives all of more objects than fit one page, and can be left early',
    async ({ driver, put }) => {
      if (!driver.capabilities.list) return assertCode(listKeys(driver), 'TIERED_UNSUPPORTED');
      const keys = Array.from({ length: 1100 }, (_, i) => `many/${String(i).padStart(5, '0')}`);
      for (let i = 0; i < keys.length; i += 100) {
        await Promise.all(keys.slice(i, i + 100).map((key) => put(key, someBytes(1, 1))));
      }
      assert.deepEqual(await listKeys(driver), keys);
      for await (const page of driver.list({})) {
        assert.ok(page.length > 0);
        break;
      }
    },
  ),
  openTest('usage() is the sum of the objects, or is refused', async ({ driver, put }) => {
    if (!driver.capabilities.usage) return assertCode(driver.usage({}), 'TIERED_UNSUPPORTED');
    const measure = async () => {
      const { bytes, objects } = await driver.usage({});
      return { bytes, objects };
    };
    assert.deepEqual(await measure(), { bytes: 0, objects: 0 });
    await put('a', someBytes(100, 1));
    await put('b/c', someBytes(50, 1));
    assert.deepEqual(await measure(), { bytes: 150, objects: 2 });
    await put('a', someBytes(10, 1));
    assert.deepEqual(await measure(), { bytes: 60, objects: 2 });
  }),
];
