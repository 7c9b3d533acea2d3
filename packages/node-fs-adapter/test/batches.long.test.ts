import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { StorageDriver } from '@tiered/core';
import { ManualClock, someBytes } from '@tiered/core/testing';
import { native } from '@tiered/native';
import { describe, expect, it } from 'vitest';
import {
  childCommand,
  place,
  putFile,
  SECRET,
  snapshot,
  textOf,
  textsOf,
  turn,
  withCode,
  type Place,
} from './helpers.js';

const KEYS = Array.from({ length: 40 }, (_, i) => `dir-${i % 3}/${i}`);

/**
 * A driver on a root with files that hold their own keys. Its storage has answered, and is as fast as memory
 * by its clock, so native threads read its batches where there are any.
 */
async function withFiles(options: Parameters<typeof place>[0] = {}): Promise<Place> {
  const there = await place({ clock: new ManualClock(), ...options });
  for (const key of KEYS) await putFile(there.root, key, Buffer.from(key));
  await there.driver.stat('dir-0/0', {});
  return there;
}

/** All of them, in two batches at the same time. */
function twice(driver: StorageDriver): Promise<unknown[][]> {
  return Promise.all([textsOf(driver, KEYS), textsOf(driver, KEYS)]);
}

describe.each([{ way: 'where there are any' }, { way: 'off', nativeThreads: 0 }])(
  'batches into shared memory, with native threads $way',
  ({ nativeThreads }) => {
    const options = nativeThreads === undefined ? {} : { nativeThreads };

    it('are read, also several at the same time, and after close() and open()', async () => {
      const { driver } = await withFiles(options);
      const batches = KEYS.map((_, i) => [...KEYS.slice(i), ...KEYS.slice(0, i)]);
      expect(await Promise.all(batches.map((keys) => textsOf(driver, keys)))).toEqual(batches);
      await driver.close();
      await driver.open({});
      for (let round = 0; round < 3; round++) expect(await twice(driver)).toEqual([KEYS, KEYS]);
    });

    it('are read if they are large', async () => {
      const { root, driver } = await withFiles(options);
      await putFile(root, 'file', someBytes(1_000_000, 1));
      const memory = new SharedArrayBuffer(9_000_000);
      const targets = Array.from({ length: 9 }, (_, i) => new Uint8Array(memory, i * 1_000_000, 1_000_000));
      const outcomes = await driver.readMany(
        targets.map((target) => ({ key: 'file', offset: 0, target })),
        {},
      );
      expect(outcomes).toEqual(targets.map(() => ({ bytes: 1_000_000 })));
      for (const target of targets) expect(Buffer.compare(target, someBytes(1_000_000, 1))).toBe(0);
    });

    it('[K1] do not follow links out of the root, wherever in the batch they are', async () => {
      const { root, outside, driver } = await withFiles(options);
      fs.symlinkSync('../outside/secret', path.join(root, 'file'));
      fs.symlinkSync('../outside', path.join(root, 'out'));
      fs.symlinkSync('dir-0', path.join(root, 'in'));
      const refused = withCode('TIERED_KEY_INVALID');
      const before = await snapshot(outside);
      const keys = [
        'dir-0/0',
        'file',
        'in/3',
        'out/secret',
        '../outside/secret',
        'out/deep/secret',
        'dir-1/1',
      ];
      expect(await textsOf(driver, keys)).toEqual([
        'dir-0/0',
        refused,
        'dir-0/3',
        refused,
        refused,
        refused,
        'dir-1/1',
      ]);
      expect(await snapshot(outside)).toEqual(before);
    });

    it('[K1] do not follow a link that comes and goes while they are read', async () => {
      const { root, driver } = await withFiles({ ...options, maxOpenFiles: 1 });
      await putFile(root, 'x/secret', Buffer.from('inside'));
      const [at, aside] = [path.join(root, 'x'), path.join(root, 'aside')];
      let inside = 0;
      for (let round = 0; round < 100; round++) {
        const reading = textsOf(
          driver,
          Array.from({ length: 40 }, () => 'x/secret'),
        );
        await turn();
        for (let swap = 0; swap < 10; swap++) {
          fs.renameSync(at, aside);
          fs.symlinkSync('../outside', at);
          fs.rmSync(at);
          fs.renameSync(aside, at);
        }
        for (const text of await reading) {
          expect(text).not.toBe(SECRET);
          if (text === 'inside') inside += 1;
        }
      }
      expect(inside, 'reads that met the directory').toBeGreaterThan(0);
    });
  },
);

describe('batches into shared memory', () => {
  it('keep no process from its end', async () => {
    const { root } = await place();
    await putFile(root, 'file', Buffer.from('bytes'));
    const [node, args] = childCommand('read-and-leave.ts', root);
    expect(JSON.parse((await promisify(execFile)(node, args)).stdout)).toEqual({
      outcomes: [{ bytes: 5 }],
      text: 'bytes',
    });
  });

  it('a number of threads that cannot be is TIERED_CONFIG_INVALID', async () => {
    for (const readerThreads of [-1, 0.5, 257, Number.NaN])
      await expect(place({ readerThreads })).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
  });

  it('are read singly with readerThreads: 0', async () => {
    const { driver } = await withFiles({ readerThreads: 0 });
    expect(await textsOf(driver, KEYS)).toEqual(KEYS);
    expect(driver.openFiles, 'files that single reads keep open').toBe(KEYS.length);
  });
});

describe.skipIf(!native().available)('batches in native threads', () => {
  it('keep no file open, and see the file that is there now, also if another one is kept open', async () => {
    const { root, driver } = await withFiles();
    expect(await twice(driver)).toEqual([KEYS, KEYS]);
    expect(driver.openFiles).toBe(0);
    expect(await textOf(driver, 'dir-0/0')).toBe('dir-0/0');
    await putFile(root, 'dir-0/0', Buffer.from('new'));
    expect(await textsOf(driver, ['dir-0/0'])).toEqual(['new']);
  });

  it('go the other way for once after one of which threads could read nothing', async () => {
    const { driver } = await withFiles();
    const missing = withCode('TIERED_NOT_FOUND');
    expect(await textsOf(driver, ['none', 'of', 'these'])).toEqual([missing, missing, missing]);
    expect(await textsOf(driver, KEYS.slice(0, 5))).toEqual(KEYS.slice(0, 5));
    expect(driver.openFiles, 'files that single reads keep open').toBe(5);
    expect(await textsOf(driver, KEYS)).toEqual(KEYS);
    expect(driver.openFiles).toBe(5);
  });
});
