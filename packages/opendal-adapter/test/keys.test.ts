import fs from 'node:fs/promises';
import path from 'node:path';
import { isTieredError } from '@tiered/core';
import { OpenDalDriver } from '@tiered/opendal-adapter';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { files, keysOf, opened, put, textOf, withCode } from './helpers.js';

/** Keys of parts that OpenDAL may treat in a way of its own, and of anything else. */
const keys = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '/',
        '//',
        '.',
        '..',
        '/./',
        ' ',
        '\t',
        '\u0085',
        '\u3000',
        '\ufeff',
        '\\',
        '%2F',
        '+',
        '?',
        '#',
      ),
      fc.constantFrom('a', 'b', 'é', 'e\u0301', '日本'),
      fc.string({ unit: 'binary', maxLength: 3 }),
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((parts) => parts.join(''))
  .filter((key) => key !== '' && !key.includes('\0'));

/** Whether the driver takes the key; if not, it must say so of every operation. */
async function accepts(driver: OpenDalDriver, key: string): Promise<boolean> {
  try {
    await put(driver, key);
    return true;
  } catch (error) {
    if (!isTieredError(error, 'TIERED_KEY_INVALID')) throw error;
    await expect(driver.stat(key, {})).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
    await expect(driver.read(key, { offset: 0, length: 1 })).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
    await expect(driver.delete(key, {})).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
    return false;
  }
}

async function assertRoundTrip(driver: OpenDalDriver, key: string): Promise<void> {
  if (!(await accepts(driver, key))) return;
  try {
    expect(await textOf(driver, key)).toBe(key);
    expect(await keysOf(driver)).toEqual([key]);
    expect(await keysOf(driver, [...key].slice(0, -1).join(''))).toEqual([key]);
  } finally {
    await driver.delete(key, {});
  }
  expect(await keysOf(driver)).toEqual([]);
}

describe('keys of OpenDalDriver', () => {
  it('are listed and read as they were written, or refused, in memory', async () => {
    const driver = await opened(new OpenDalDriver({ service: 'memory', writable: true }));
    await fc.assert(fc.asyncProperty(keys, (key) => assertRoundTrip(driver, key)));
  });

  it('are listed and read as they were written, or refused, as files', async () => {
    const { driver, directory, root } = await files();
    await fc.assert(
      fc.asyncProperty(keys, async (key) => {
        await assertRoundTrip(driver, key);
        // Directories stay; the next key may be one of their names.
        await fs.rm(root, { recursive: true });
        await fs.mkdir(root);
      }),
    );
    expect((await fs.readdir(directory)).sort()).toEqual(['root', 'writes']);
    expect(await fs.readdir(path.join(directory, 'writes'))).toEqual([]);
  });

  it.each(['a/../b', '../a', './a', 'a/.', '/a', 'a//b', 'a/', ' a', 'a\n', '..', '.'])(
    'such as %j are refused, since OpenDAL would make others of them',
    async (key) => {
      const driver = await opened(new OpenDalDriver({ service: 'memory', writable: true }));
      await expect(put(driver, key)).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
      await expect(driver.create(key, { size: 1 })).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
    },
  );

  it.each(['a /b', 'a\t/b', 'a/b\u3000/c'])(
    'such as %j are refused as files, since listings would not find them',
    async (key) => {
      const { driver } = await files();
      await expect(put(driver, key)).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
      const memory = await opened(new OpenDalDriver({ service: 'memory', writable: true }));
      await put(memory, key);
      expect(await keysOf(memory)).toEqual([key]);
    },
  );

  it('that begin like a parent directory do not list it', async () => {
    const { driver, directory } = await files();
    await fs.writeFile(path.join(directory, 'outside'), 'x');
    await put(driver, '..a/b');
    await put(driver, 'a/..b');
    expect(await keysOf(driver, '..')).toEqual(['..a/b']);
    expect(await keysOf(driver, 'a/..')).toEqual(['a/..b']);
    for (const prefix of ['../', '../o', 'a/../', '/', 'a//', ' ', './'])
      expect(await keysOf(driver, prefix)).toEqual([]);
  });

  it('that stand in each other’s way as files are conflicts, which leave nothing behind', async () => {
    const { driver, directory } = await files();
    await put(driver, 'file');
    await put(driver, 'dir/file');
    await expect(put(driver, 'file/below')).rejects.toEqual(withCode('TIERED_KEY_CONFLICT'));
    await expect(put(driver, 'dir')).rejects.toEqual(withCode('TIERED_KEY_CONFLICT'));
    for (const key of ['file/below', 'dir']) {
      await expect(driver.stat(key, {})).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
      await expect(driver.read(key, { offset: 0, length: 1 })).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
      await driver.delete(key, {});
    }
    expect(await keysOf(driver)).toEqual(['dir/file', 'file']);
    expect(await fs.readdir(path.join(directory, 'writes'))).toEqual([]);
  });

  it('too long for a file are refused', async () => {
    const { driver } = await files();
    await expect(put(driver, 'x'.repeat(300))).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
  });

  it('begin behind a prefix of the driver, which need not be a directory', async () => {
    const { driver, root } = await files();
    await put(driver, 'train/cat-1');
    await put(driver, 'train/dog-1');
    await put(driver, 'train/cat-');
    const cats = await opened(new OpenDalDriver({ service: 'fs', options: { root }, prefix: 'train/cat-' }));
    expect(await keysOf(cats)).toEqual(['1']);
    expect(await textOf(cats, '1')).toBe('train/cat-1');
    expect(cats.location).toBe(`file://${root}/train/cat-`);
  });
});
