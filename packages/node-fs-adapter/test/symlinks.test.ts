import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  WAYS,
  keysOf,
  onLinux,
  place,
  put,
  putFile,
  SECRET,
  snapshot,
  keptTextOf,
  textOf,
  turn,
  withCode,
  type Place,
} from './helpers.js';

const refused = withCode('TIERED_KEY_INVALID');

/** A place for writing with an object `a` and `dir/b`, and these links in the root. */
async function linked(
  links: Readonly<Record<string, string>>,
  options: Parameters<typeof place>[0] = {},
): Promise<Place> {
  const there = await place({ writable: true, maxOpenFiles: 2, ...options });
  await put(there.driver, 'a');
  await put(there.driver, 'dir/b');
  for (const [name, target] of Object.entries(links)) fs.symlinkSync(target, path.join(there.root, name));
  return there;
}

describe('links that lead out of the root', () => {
  it.each(WAYS)('[K1] a link to a file is refused, and neither listed nor counted: $way', async (options) => {
    for (const absolute of [false, true]) {
      const { root, outside, driver } = await place({ writable: true, ...options });
      fs.symlinkSync(absolute ? path.join(outside, 'secret') : '../outside/secret', path.join(root, 'link'));
      const target = new Uint8Array(20);
      await expect(driver.read('link', { offset: 0, length: 20 })).rejects.toEqual(refused);
      await expect(driver.readInto('link', target, { offset: 0 })).rejects.toEqual(refused);
      await expect(driver.stat('link', {})).rejects.toEqual(refused);
      expect(target).toEqual(new Uint8Array(20));
      expect(await keysOf(driver)).toEqual([]);
      expect(await driver.usage({})).toMatchObject({ bytes: 0, objects: 0 });
      expect(driver.openFiles).toBe(0);
    }
  });

  it.each(WAYS)('[K1] a link to a directory is refused for every operation: $way', async (options) => {
    const { outside, driver } = await linked({ out: '../outside' }, options);
    const before = await snapshot(outside);
    for (const key of ['out/secret', 'out/deep/secret']) {
      await expect(textOf(driver, key)).rejects.toEqual(refused);
      await expect(driver.readInto(key, new Uint8Array(9), { offset: 0 })).rejects.toEqual(refused);
      await expect(driver.stat(key, {})).rejects.toEqual(refused);
      await expect(driver.delete(key, {})).rejects.toEqual(refused);
      await expect(put(driver, key)).rejects.toEqual(refused);
    }
    await expect(put(driver, 'out/new')).rejects.toEqual(refused);
    await expect(driver.delete('out/empty/none', {})).rejects.toEqual(refused);
    expect(await keysOf(driver)).toEqual(['a', 'dir/b']);
    expect(await snapshot(outside)).toEqual(before);
  });

  it('[K1] a write below a link to a directory makes no directories there', async () => {
    const { outside, driver } = await linked({ out: '../outside' });
    const before = await snapshot(outside);
    await expect(put(driver, 'out/new/deeper/object')).rejects.toEqual(refused);
    expect(await snapshot(outside)).toEqual(before);
  });

  it('a listing whose prefix names a link to a directory does not enter it', async () => {
    const { driver } = await linked({ out: '../outside' });
    for (const prefix of ['out', 'out/', 'out/s', 'out/deep/'])
      expect(await keysOf(driver, prefix)).toEqual([]);
  });

  it('writing to a link, or deleting it, replaces or removes the link and leaves its target alone', async () => {
    const { outside, root, driver } = await linked({ file: '../outside/secret', dir2: '../outside' });
    const before = await snapshot(outside);
    for (const key of ['file', 'dir2']) {
      await put(driver, key, 'mine');
      expect(await textOf(driver, key)).toBe('mine');
      fs.rmSync(path.join(root, key));
      fs.symlinkSync('../outside', path.join(root, key));
      await driver.delete(key, {});
    }
    expect(await keysOf(driver)).toEqual(['a', 'dir/b']);
    expect(await snapshot(outside)).toEqual(before);
  });
});

describe('links within the root', () => {
  it('a link to a file is an object; a link to a directory is a way to objects, listed once', async () => {
    const { driver } = await linked({ file: 'dir/b', sub: 'dir', chain: 'file' });
    for (const key of ['file', 'chain', 'sub/b']) {
      expect(await textOf(driver, key)).toBe('dir/b');
      expect(await driver.stat(key, {})).toMatchObject({ key, size: 5 });
    }
    expect(await keysOf(driver)).toEqual(['a', 'chain', 'dir/b', 'file']);
  });

  it('a link that leads nowhere is TIERED_NOT_FOUND, one that leads in circles TIERED_KEY_INVALID', async () => {
    const { driver } = await linked({ dangling: 'nothing', circle: 'circle', ping: 'pong', pong: 'ping/x' });
    const missing = withCode('TIERED_NOT_FOUND');
    for (const [key, error] of [
      ['dangling', missing],
      ['dangling/below', missing],
      ['circle', refused],
      ['circle/below', refused],
      ['ping', refused],
    ] as const) {
      await expect(textOf(driver, key), key).rejects.toEqual(error);
      await expect(driver.stat(key, {}), key).rejects.toEqual(error);
    }
    expect(await keysOf(driver)).toEqual(['a', 'dir/b']);
    expect(driver.openFiles).toBe(0);
  });
});

describe.each(WAYS)('a link to the outside that takes the place of a file: $way', (options) => {
  it('[K1] is never followed: the kept descriptor serves the old bytes, every new look is refused', async () => {
    const { root, driver } = await linked({}, options);
    expect(await keptTextOf(driver, 'a')).toBe('a');
    fs.rmSync(path.join(root, 'a'));
    fs.symlinkSync('../outside/secret', path.join(root, 'a'));
    expect(await textOf(driver, 'a')).toBe('a');
    await expect(driver.stat('a', {})).rejects.toEqual(refused);
    // Two other files push the kept descriptor out.
    await put(driver, 'c');
    for (const key of ['dir/b', 'c']) await keptTextOf(driver, key);
    await expect(textOf(driver, 'a')).rejects.toEqual(refused);
    await driver.close();
    await driver.open({});
    await expect(textOf(driver, 'a')).rejects.toEqual(refused);
  });

  it('is not followed either where a directory stood', async () => {
    const { root, driver } = await linked({}, options);
    await put(driver, 'deep/secret');
    expect(await keptTextOf(driver, 'deep/secret')).toBe('deep/secret');
    fs.rmSync(path.join(root, 'deep'), { recursive: true });
    fs.symlinkSync('../outside/deep', path.join(root, 'deep'));
    expect(await textOf(driver, 'deep/secret')).toBe('deep/secret');
    await expect(driver.stat('deep/secret', {})).rejects.toEqual(refused);
    await expect(put(driver, 'deep/secret')).rejects.toEqual(refused);
    await driver.close();
    await driver.open({});
    await expect(textOf(driver, 'deep/secret')).rejects.toEqual(refused);
  });

  it.skipIf(onLinux.skip)('is not followed when it comes and goes while reads are under way', async () => {
    const { root, driver } = await place({ maxOpenFiles: 1, ...options });
    for (const key of ['x/secret', 'y']) await putFile(root, key, Buffer.from('inside'));
    const [at, aside] = [path.join(root, 'x'), path.join(root, 'aside')];
    let refusals = 0;
    // On a busy machine it takes long until a read comes while the link is there.
    for (let round = 0; round < 200 || (refusals === 0 && !options.blockingCalls); round++) {
      // Each read of y closes x, so that the next one of x has to open it.
      const reads = ['x/secret', 'y', 'x/secret', 'y', 'x/secret'].map(async (key) => {
        const got = await textOf(driver, key).catch((error: unknown) => {
          refusals += Number((error as { code?: unknown }).code === 'TIERED_KEY_INVALID');
          return 'refused';
        });
        expect(got).not.toBe(SECRET);
      });
      fs.renameSync(at, aside);
      fs.symlinkSync('../outside', at);
      await turn();
      fs.rmSync(at);
      fs.renameSync(aside, at);
      await Promise.all(reads);
    }
  });
});
