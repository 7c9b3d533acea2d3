import fs from 'node:fs';
import path from 'node:path';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { expect, it } from 'vitest';
import { keysOf, place, put, temporaryFiles, textOf, withCode } from './helpers.js';

const exists = withCode('TIERED_EXISTS');

function putIfAbsent(driver: FileSystemDriver, key: string, text = key): Promise<void> {
  const bytes = Buffer.from(text);
  return driver.write(key, bytes, { size: bytes.byteLength, ifAbsent: true });
}

it('[W5] a write that may replace nothing leaves what is there, and no trace of itself', async () => {
  const { root, driver } = await place({ writable: true });
  await put(driver, 'dir/there', 'old');
  await expect(putIfAbsent(driver, 'dir/there', 'new')).rejects.toEqual(exists);
  expect(await textOf(driver, 'dir/there')).toBe('old');
  await putIfAbsent(driver, 'new/object');
  expect(await textOf(driver, 'new/object')).toBe('new/object');
  expect(fs.statSync(path.join(root, 'new/object')).nlink).toBe(1);
  await driver.delete('new/object', {});
  await putIfAbsent(driver, 'new/object', 'again');
  expect(await textOf(driver, 'new/object')).toBe('again');
  expect(await temporaryFiles(root)).toEqual([]);
});

it('[W5] of many that write an object at the same time one succeeds, and the others get TIERED_EXISTS', async () => {
  const { root, driver } = await place({ writable: true });
  const other = new FileSystemDriver({ root, writable: true });
  await other.open({});
  for (let round = 0; round < 30; round++) {
    const key = `dir/${round % 3}/${round}`;
    const tries = await Promise.allSettled(
      Array.from({ length: 8 }, (_, i) => putIfAbsent(i % 2 === 0 ? driver : other, key, `${i}`)),
    );
    const winners = tries.flatMap(({ status }, i) => (status === 'fulfilled' ? [`${i}`] : []));
    expect(winners).toEqual([await textOf(driver, key)]);
    for (const one of tries) if (one.status === 'rejected') expect(one.reason).toEqual(exists);
  }
  expect(await temporaryFiles(root)).toEqual([]);
  await other.close();
});

it('[W5] a directory that stands there is a conflict of keys, and no object', async () => {
  const { driver } = await place({ writable: true });
  await put(driver, 'a/b');
  await expect(putIfAbsent(driver, 'a')).rejects.toEqual(withCode('TIERED_KEY_CONFLICT'));
  await expect(putIfAbsent(driver, 'a/b/c')).rejects.toEqual(withCode('TIERED_KEY_CONFLICT'));
  expect(await keysOf(driver)).toEqual(['a/b']);
});
