import fs from 'node:fs';
import path from 'node:path';
import { isTieredError, type StorageDriver } from '@tiered/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WAYS, keysOf, place, put, SECRET, sharedTextOf, snapshot, withCode, type Place } from './helpers.js';

const REFUSED = [
  ['..', '.. alone'],
  ['../outside/secret', '.. at the beginning'],
  ['a/../../outside/secret', '.. in the middle, to the outside'],
  ['a/../b', '.. in the middle, to the inside'],
  ['a/b/..', '.. at the end'],
  ['/etc/passwd', 'an absolute key'],
  ['/', 'the root of everything'],
  ['a\0b', 'NUL in the middle'],
  ['a/../secret\0.jpg', 'NUL at the end of a name'],
  ['', 'an empty key'],
  ['a//b', 'an empty segment'],
  ['a/', 'an empty segment at the end'],
  ['.', 'the root itself'],
  ['./a', '. at the beginning'],
  ['a/./b', '. in the middle'],
  ['a/.', '. at the end'],
  ['.tiered', 'the private directory'],
  ['.tiered/tmp', 'the directory of temporary files'],
  ['.tiered/tmp/x', 'a temporary file'],
] as const;

const OPERATIONS: Record<string, (driver: StorageDriver, key: string) => Promise<unknown>> = {
  stat: (driver, key) => driver.stat(key, {}),
  read: (driver, key) => driver.read(key, { offset: 0, length: 100 }),
  readInto: (driver, key) => driver.readInto(key, new Uint8Array(100), { offset: 0 }),
  readMany: async (driver, key) => {
    const target = new Uint8Array(100);
    const [outcome] = await driver.readMany([{ key, offset: 0, target }], {});
    if (outcome !== undefined && 'error' in outcome) throw outcome.error;
    return target;
  },
  'readMany into shared memory': async (driver, key) => Buffer.from(await sharedTextOf(driver, key)),
  write: (driver, key) => put(driver, key, 'written'),
  delete: (driver, key) => driver.delete(key, {}),
};

describe('keys that could leave the root, or name a file twice', () => {
  it.each(REFUSED)(
    '[K1] %j (%s) is TIERED_KEY_INVALID for every operation, and touches nothing',
    async (key) => {
      const { directory, driver } = await place({ writable: true });
      await put(driver, 'a/b');
      await put(driver, 'b');
      const before = await snapshot(directory);
      for (const [name, operation] of Object.entries(OPERATIONS)) {
        await expect(operation(driver, key), name).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
      }
      expect(await snapshot(directory)).toEqual(before);
      expect(driver.openFiles).toBe(0);
    },
  );

  it('names that only look dangerous are objects like others', async () => {
    const { driver } = await place({ writable: true });
    const names = [
      '...',
      '..a',
      'a..',
      '.hidden',
      'a/.tiered',
      '.tiered-not',
      '%2e%2e',
      '~',
      '$HOME',
      '*',
      '-rf',
    ];
    for (const name of names) await put(driver, name);
    expect(await keysOf(driver)).toEqual([...names].sort());
  });
});

/** Everything that ever led out of a directory, and ordinary names to put between. */
const segment = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom('..', '.', '', 'a', 'b', 'outside', 'secret', 'deep', 'er', 'empty'),
  },
  { weight: 3, arbitrary: fc.constantFrom('dir-out', 'file-out', 'dir-in', 'up', '.tiered', 'tmp', 'root') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('\0', '..\0', '\\..\\', '%2e%2e', '.. ', '..;', '\u2025', 'x'.repeat(300)),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
);

const pathLike = (outside: string) =>
  fc
    .tuple(
      fc.constantFrom('', '', '', '/', `${outside}/`, 'dir-out/', 'b/up/dir-out/', 'dir-in/'),
      fc.array(segment, { minLength: 1, maxLength: 5 }),
    )
    .map(([start, segments]) => start + segments.join('/'));

/** Lays out the root anew: writes and deletes of the last run may have replaced the links. */
function layOut({ root }: Place): void {
  for (const name of fs.readdirSync(root)) {
    if (name !== '.tiered') fs.rmSync(path.join(root, name), { recursive: true });
  }
  fs.mkdirSync(path.join(root, 'b'));
  fs.writeFileSync(path.join(root, 'a'), 'inside');
  fs.writeFileSync(path.join(root, 'b/a'), 'inside');
  const links = { 'dir-out': '../outside', 'file-out': '../outside/secret', 'dir-in': 'b', 'b/up': '..' };
  for (const [name, target] of Object.entries(links)) fs.symlinkSync(target, path.join(root, name));
}

describe('whatever the key', () => {
  it.each(WAYS)('[K1] nothing outside the root is made, changed, read or removed: $way', async (options) => {
    const there = await place({ writable: true, maxOpenFiles: 1, ...options });
    const { directory, outside, driver } = there;
    const untouched = await snapshot(outside);
    await fc.assert(
      fc.asyncProperty(pathLike(outside), async (key) => {
        layOut(there);
        for (const operation of Object.values(OPERATIONS)) {
          const result = await operation(driver, key).catch((error: unknown) => error);
          if (result instanceof Uint8Array) expect(Buffer.from(result).toString()).not.toContain(SECRET);
          if (result instanceof Error) expect(isTieredError(result), String(result)).toBe(true);
        }
        expect(await snapshot(outside)).toEqual(untouched);
        expect(fs.readdirSync(directory).sort()).toEqual(['outside', 'root']);
      }),
      // What was made outside stays, so that a smaller key cannot be tried.
      { numRuns: 150, endOnFailure: true },
    );
  });

  it('a listing with a prefix is the part of the whole listing that starts with it', async () => {
    const there = await place({ writable: true });
    layOut(there);
    const all = await keysOf(there.driver);
    expect(all).toEqual(['a', 'b/a']);
    await fc.assert(
      fc.asyncProperty(pathLike(there.outside), async (prefix) => {
        expect(await keysOf(there.driver, prefix)).toEqual(all.filter((key) => key.startsWith(prefix)));
      }),
      { numRuns: 200 },
    );
  });
});
