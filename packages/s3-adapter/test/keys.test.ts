import { isTieredError } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUCKET, answering, driverOn, keysOf, place, readAll } from './helpers.js';

const AWKWARD = [
  'a/../../b',
  '..',
  '.',
  './a',
  '/abs',
  '//',
  'a//b',
  'a/',
  'a+b c%20d',
  '%2e%2e/x',
  "!'()*~-_.",
  '?x=1&y#z;:@$,',
  'line\nbreak\r\ttab',
  'übergröße/日本語/😀',
  '\u{10ffff}',
  '<&>"',
  '\\back\\slash',
  'x'.repeat(1024),
];

describe('keys', () => {
  it('[O3] go over the wire as they are: nothing is normalised, and every other byte is escaped', async () => {
    const paths: (string | undefined)[] = [];
    const endpoint = await answering(({ url }, response) => {
      paths.push(url);
      response.writeHead(200, { etag: '"x"', 'content-length': 0 }).end();
    });
    const driver = await driverOn(endpoint);
    for (const key of ['a/../../b', '..', './.', '/abs', 'a//b', 'a/', 'é +%!\'()*?#"'])
      await driver.stat(key, {});
    expect(paths).toEqual([
      '/data/a/../../b',
      '/data/..',
      '/data/./.',
      '/data//abs',
      '/data/a//b',
      '/data/a/',
      '/data/%C3%A9%20%2B%25%21%27%28%29%2A%3F%23%22',
    ]);
  });

  it('[O3] of any characters name their own objects: written, listed, read, described and deleted', async () => {
    const { server, driver } = await place();
    const key = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 60 })
      .filter((text) => text.isWellFormed() && !text.includes('\0'));
    const property = fc.asyncProperty(
      fc.uniqueArray(fc.oneof(fc.constantFrom(...AWKWARD), key), { minLength: 1, maxLength: 8 }),
      async (keys) => {
        for (const [i, name] of keys.entries()) await driver.write(name, someBytes(i, i), { size: i });
        expect(new Set(server.keys(BUCKET))).toEqual(new Set(keys));
        for (const [i, name] of keys.entries()) {
          expect((await driver.stat(name, {})).size).toBe(i);
          expect(Buffer.compare(await readAll(driver, name), someBytes(i, i))).toBe(0);
        }
        expect(new Set(await keysOf(driver))).toEqual(new Set(keys));
        await Promise.all(keys.map((name) => driver.delete(name, {})));
        expect(server.keys(BUCKET)).toEqual([]);
      },
    );
    await fc.assert(property, { numRuns: 50 });
  });

  it('below a prefix stay below it, whatever segments they have', async () => {
    const { server, driver } = await place({ prefix: 'mine/' });
    server.put(BUCKET, 'other', someBytes(5, 1));
    server.put(BUCKET, 'mine/', someBytes(0, 1));
    await expect(driver.stat('../other', {})).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
    await driver.write('../new', someBytes(5, 2), { size: 5 });
    expect(server.keys(BUCKET)).toEqual(['mine/', 'mine/../new', 'other']);
    // The object whose whole key is the prefix has no key below it.
    expect(await keysOf(driver)).toEqual(['../new']);
    expect(driver.location).toBe(`${server.endpoint}/data/mine/`);
  });

  it('of more than 1024 bytes are refused, counted as UTF-8 and with the prefix', async () => {
    const { server, driver } = await place({ prefix: 'mine/' });
    for (const key of ['x'.repeat(1020), 'é'.repeat(510)]) {
      const error: unknown = await driver.stat(key, {}).catch((caught: unknown) => caught);
      expect(isTieredError(error, 'TIERED_KEY_INVALID')).toBe(true);
    }
    await expect(driver.stat('x'.repeat(1019), {})).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
    expect(server.requests.HeadObject).toBe(1);
  });
});
