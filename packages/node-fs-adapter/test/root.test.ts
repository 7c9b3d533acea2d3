import fs from 'node:fs';
import path from 'node:path';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { describe, expect, it } from 'vitest';
import {
  keptTextOf,
  keysOf,
  place,
  put,
  putFile,
  snapshot,
  textOf,
  withCode,
  type Place,
} from './helpers.js';

const unavailable = withCode('TIERED_UNAVAILABLE', true);
const notOurs = withCode('TIERED_DIRECTORY_NOT_OURS');

/** A driver that was never opened on a root that may be anything. */
const on = (root: string, writable = false) => new FileSystemDriver({ root, writable });

describe('options that cannot work', () => {
  it.each([
    { root: '' },
    { root: 'a\0b' },
    { root: undefined as unknown as string },
    { root: '/tmp', maxOpenFiles: 0 },
    { root: '/tmp', maxOpenFiles: 1.5 },
    { root: '/tmp', maxOpenFiles: NaN },
    { root: '/tmp', listConcurrency: 0 },
    { root: '/tmp', listConcurrency: 2.5 },
  ])('%j is TIERED_CONFIG_INVALID', (options) => {
    expect(() => new FileSystemDriver(options)).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });
});

describe('a directory with files that the driver did not write', () => {
  it.each(['file', '.hidden', 'directory/', 'directory/file'])(
    '[W2] holding %s is refused for writing, left as it is, and can be read',
    async (name) => {
      const { outside } = await place();
      const root = path.join(outside, 'full');
      fs.mkdirSync(path.join(root, path.dirname(name), name.endsWith('/') ? name : '.'), { recursive: true });
      if (!name.endsWith('/')) fs.writeFileSync(path.join(root, name), 'theirs');
      const before = await snapshot(outside);
      await expect(on(root, true).open({})).rejects.toEqual(notOurs);
      expect(await snapshot(outside)).toEqual(before);
      const reader = on(root);
      await reader.open({});
      expect(await keysOf(reader)).toEqual(name.endsWith('/') ? [] : [name]);
      await reader.close();
    },
  );

  it('an empty directory, a missing one and one of before are taken', async () => {
    const { directory } = await place();
    for (const root of ['root', 'new', 'new/er/directory']) {
      for (let time = 0; time < 2; time++) {
        const driver = on(path.join(directory, root), true);
        await driver.open({});
        await put(driver, `object-${time}`);
        await driver.close();
      }
      const driver = on(path.join(directory, root));
      await driver.open({});
      expect(await keysOf(driver)).toContain('object-0');
      await driver.close();
      if (root !== 'new') continue;
      fs.rmSync(path.join(directory, 'new'), { recursive: true });
    }
  });
});

describe('a root that is no directory', () => {
  it('is TIERED_UNAVAILABLE for reading, and is not made', async () => {
    const { directory, outside } = await place();
    for (const root of [
      path.join(directory, 'none'),
      path.join(outside, 'secret'),
      path.join(outside, 'a/b'),
    ]) {
      await expect(on(root).open({})).rejects.toEqual(unavailable);
    }
    expect(fs.readdirSync(directory).sort()).toEqual(['outside', 'root']);
  });

  it('is TIERED_UNAVAILABLE for writing if a file stands there, or above it', async () => {
    const { outside } = await place();
    const before = await snapshot(outside);
    for (const root of ['secret', 'secret/below']) {
      await expect(on(path.join(outside, root), true).open({}), root).rejects.toEqual(unavailable);
    }
    expect(await snapshot(outside)).toEqual(before);
  });
});

/** A place for writing with two objects, the first of them open, whose root was then taken away. */
async function gone(replaceBy?: (root: string) => unknown): Promise<Place> {
  const there = await place({ writable: true });
  await put(there.driver, 'open');
  await put(there.driver, 'dir/other');
  await keptTextOf(there.driver, 'open');
  fs.rmSync(there.root, { recursive: true });
  replaceBy?.(there.root);
  return there;
}

describe('a root that goes away while it is in use', () => {
  it('is TIERED_UNAVAILABLE for every file that is not open, and is not made again', async () => {
    for (const replaceBy of [undefined, (root: string) => fs.writeFileSync(root, 'a file')]) {
      const { root, driver } = await gone(replaceBy);
      expect(await textOf(driver, 'open'), 'a file that is open').toBe('open');
      for (const key of ['dir/other', 'never/there']) {
        await expect(textOf(driver, key)).rejects.toEqual(unavailable);
        await expect(driver.readInto(key, new Uint8Array(5), { offset: 0 })).rejects.toEqual(unavailable);
        await expect(driver.stat(key, {})).rejects.toEqual(unavailable);
        await expect(put(driver, key)).rejects.toEqual(unavailable);
        await expect(driver.delete(key, {})).rejects.toEqual(unavailable);
      }
      expect(fs.existsSync(root) && fs.statSync(root).isDirectory()).toBe(false);
    }
  });

  it.each(['missing', 'a file'])('is TIERED_UNAVAILABLE for a listing and for usage(): %s', async (now) => {
    const { driver } = await gone((root) => now === 'a file' && fs.writeFileSync(root, now));
    await expect(driver.usage({}), 'usage').rejects.toEqual(unavailable);
    await expect(keysOf(driver), 'list').rejects.toEqual(unavailable);
  });

  it('is not made again by a write that is under way, which is TIERED_UNAVAILABLE too', async () => {
    for (const key of ['object', 'dir/object']) {
      const { root, driver } = await place({ writable: true });
      const pieces = async function* () {
        yield new Uint8Array(5);
        fs.rmSync(root, { recursive: true });
        yield new Uint8Array(5);
      };
      const result = await driver.write(key, pieces(), { size: 10 }).catch((error: unknown) => error);
      expect(fs.existsSync(root), 'the root is there').toBe(false);
      expect(result).toEqual(unavailable);
    }
  });

  it('serves again, writes first, once it was made again empty', async () => {
    const { driver } = await gone((root) => fs.mkdirSync(root));
    expect(await keysOf(driver)).toEqual([]);
    await expect(textOf(driver, 'dir/other')).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
    await put(driver, 'dir/other', 'new');
    expect(await textOf(driver, 'dir/other')).toBe('new');
    await put(driver, 'open', 'newer');
    expect(await textOf(driver, 'open')).toBe('newer');
    expect(await keysOf(driver)).toEqual(['dir/other', 'open']);
  });

  it('is not written to if it came back with files of somebody else', async () => {
    const { root, driver } = await gone();
    await putFile(root, 'theirs', Buffer.from('theirs'));
    await expect(put(driver, 'object')).rejects.toEqual(notOurs);
    expect(fs.readdirSync(root)).toEqual(['theirs']);
  });
});

it('a root that is itself a link works, and stays the directory it was when opened', async () => {
  const { directory, root, outside } = await place({ writable: true });
  const link = path.join(directory, 'link');
  fs.symlinkSync('root', link);
  const driver = new FileSystemDriver({ root: link, writable: true });
  await driver.open({});
  await put(driver, 'dir/a', 'mine');
  fs.rmSync(link);
  fs.symlinkSync('outside', link);
  expect(await textOf(driver, 'dir/a')).toBe('mine');
  expect(await driver.stat('dir/a', {})).toMatchObject({ size: 4 });
  expect(await keysOf(driver)).toEqual(['dir/a']);
  const before = await snapshot(outside);
  await put(driver, 'b');
  await driver.delete('dir/a', {});
  expect(fs.readdirSync(root).sort()).toEqual(['.tiered', 'b']);
  expect(await snapshot(outside)).toEqual(before);
  await driver.close();
});

it('[Q1] directories that hold nothing are removed, and nothing behind a link', async () => {
  const { directory, root, driver } = await place({ writable: true });
  await put(driver, 'kept/below/object');
  for (const empty of ['a/b/c', 'kept/empty', 'd']) fs.mkdirSync(path.join(root, empty), { recursive: true });
  fs.mkdirSync(path.join(directory, 'elsewhere', 'empty'), { recursive: true });
  fs.symlinkSync(path.join(directory, 'elsewhere'), path.join(root, 'link'));
  const home = await driver.openIndex({});
  await home.removeEmptyDirectories();
  await home.close();
  expect(fs.readdirSync(root).sort()).toEqual(['.tiered', 'kept', 'link']);
  expect(fs.readdirSync(path.join(root, 'kept'))).toEqual(['below']);
  expect(fs.readdirSync(path.join(directory, 'elsewhere'))).toEqual(['empty']);
});
