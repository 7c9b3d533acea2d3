import fs from 'node:fs';
import path from 'node:path';
import { native } from '@tiered/native';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  WAYS,
  gate,
  place,
  putFile,
  settledTo,
  keptTextOf,
  sharedTextOf,
  textOf,
  withCode,
  type Place,
} from './helpers.js';

describe.each(WAYS)('a file that another program changes: $way', (options) => {
  it('is served as it is now after the next stat()', async () => {
    const { root, driver } = await place(options);
    await putFile(root, 'file', Buffer.from('old'));
    expect(await keptTextOf(driver, 'file')).toBe('old');
    await putFile(root, 'file', Buffer.from('new'));
    expect(await textOf(driver, 'file'), 'the descriptor that is kept').toBe('old');
    await driver.stat('file', {});
    expect(await textOf(driver, 'file')).toBe('new');
    fs.appendFileSync(path.join(root, 'file'), ' and longer');
    expect((await driver.stat('file', {})).size).toBe(14);
    expect(await textOf(driver, 'file')).toBe('new and longer');
    fs.truncateSync(path.join(root, 'file'), 1);
    expect(await textOf(driver, 'file'), 'short at the end that is there').toBe('n');
    await driver.stat('file', {});
    expect(await textOf(driver, 'file')).toBe('n');
    await settledTo(driver, 1);
    expect(driver.openFiles).toBe(1);
  });

  it('is not served any more once stat() has found it missing', async () => {
    const { root, driver } = await place(options);
    await putFile(root, 'file', Buffer.from('old'));
    expect(await textOf(driver, 'file')).toBe('old');
    fs.rmSync(path.join(root, 'file'));
    await expect(driver.stat('file', {})).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
    await expect(textOf(driver, 'file')).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
  });
});

it('a read under way while the file is replaced does not hide the new one from reads after stat()', async () => {
  const { root, driver } = await place({ blockingCalls: false });
  for (let round = 0; round < 100; round++) {
    const [key, aside] = [`${round}`, path.join(root, 'aside')];
    fs.writeFileSync(path.join(root, key), 'old');
    const looking = driver.stat(key, {});
    const reading = textOf(driver, key);
    // In the meantime the thread pool has found the old file and opened it.
    fs.writeFileSync(aside, 'newer');
    fs.renameSync(aside, path.join(root, key));
    const { size } = await looking;
    await reading;
    if (size === 5) expect(await textOf(driver, key), `round ${round}`).toBe('newer');
  }
});

describe.each(WAYS)('a read of a version: $way', (options) => {
  const changed = withCode('TIERED_SOURCE_CHANGED');
  const versionOf = async ({ driver }: Place) => (await driver.stat('file', {})).version;
  const read = ({ driver }: Place, version: string) =>
    driver.read('file', { offset: 0, length: 100, version }).then((bytes) => Buffer.from(bytes).toString());
  const readInto = async ({ driver }: Place, version: string) => {
    const target = Buffer.alloc(100);
    const count = await driver.readInto('file', target, { offset: 0, version });
    return target.toString('utf8', 0, count);
  };

  const readShared = ({ driver }: Place, version: string) => sharedTextOf(driver, 'file', version);

  it('gives its bytes, and none of a file that was changed in place', async () => {
    for (const one of [read, readInto, readShared]) {
      const there = await place(options);
      await putFile(there.root, 'file', Buffer.from('old'));
      const old = await versionOf(there);
      expect(await one(there, old)).toBe('old');
      fs.appendFileSync(path.join(there.root, 'file'), ' and more');
      await expect(one(there, old), 'from the descriptor that was kept').rejects.toEqual(changed);
      await expect(one(there, old), 'from one that is opened').rejects.toEqual(changed);
      expect(await one(there, await versionOf(there))).toBe('old and more');
      for (const none of ['never-was', '', '\0'])
        await expect(one(there, none), JSON.stringify(none)).rejects.toEqual(changed);
    }
  });

  it('gives no file that was replaced, though a descriptor of it is kept, and the new one when that is asked for', async () => {
    for (const one of [read, readInto, readShared]) {
      const there = await place(options);
      await putFile(there.root, 'file', Buffer.from('old'));
      const old = await versionOf(there);
      for (let i = 0; i < 2; i++) expect(await one(there, old)).toBe('old');
      await putFile(there.root, 'file', Buffer.from('new'));
      await expect(one(there, old), 'from the descriptor that was kept').rejects.toEqual(changed);
      await expect(one(there, old), 'from one that is opened').rejects.toEqual(changed);
      for await (const page of there.driver.list({})) {
        for (const { version } of page) expect(await one(there, version)).toBe('new');
      }
    }
  });

  it('gives no file that was deleted, and then says that there is none', async () => {
    for (const one of [read, readInto, readShared]) {
      const there = await place(options);
      await putFile(there.root, 'file', Buffer.from('old'));
      const old = await versionOf(there);
      for (let i = 0; i < 2; i++) expect(await one(there, old)).toBe('old');
      fs.rmSync(path.join(there.root, 'file'));
      const first = await one(there, old).catch((error: unknown) => error);
      // A batch makes the second try by itself.
      expect([changed, withCode('TIERED_NOT_FOUND')]).toContainEqual(first);
      await expect(one(there, old)).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
    }
  });

  it('keeps no descriptor of a file that turned out to be another version', async () => {
    const there = await place(options);
    await putFile(there.root, 'file', Buffer.from('old'));
    const old = await versionOf(there);
    for (let i = 0; i < 2; i++) await read(there, old);
    // Native threads open a file that is read whole for that read only.
    expect(there.driver.openFiles).toBe(options.way.includes('native') && native().available ? 0 : 1);
    fs.truncateSync(path.join(there.root, 'file'), 1);
    await expect(read(there, old)).rejects.toEqual(changed);
    await settledTo(there.driver, 0);
  });
});

it('a file that is replaced while its first read is under way is not kept for the reads after it', async () => {
  const { root, driver } = await place({ blockingCalls: false });
  for (let round = 0; round < 100; round++) {
    const [key, aside] = [`${round}`, path.join(root, 'aside')];
    fs.writeFileSync(path.join(root, key), 'old');
    const { version } = await driver.stat(key, {});
    const read = () => driver.read(key, { offset: 0, length: 100, version });
    const first = read().then((bytes) => Buffer.from(bytes).toString());
    fs.writeFileSync(aside, 'new');
    fs.renameSync(aside, path.join(root, key));
    const given = await first.catch((error: unknown) => error);
    expect(['old', withCode('TIERED_SOURCE_CHANGED')], `round ${round}`).toContainEqual(given);
    await expect(read()).rejects.toEqual(withCode('TIERED_SOURCE_CHANGED'));
  }
});

it('a read of a version tells what is there of it, and nothing of a file that was changed meanwhile', async () => {
  const there = await place({ blockingCalls: false });
  const MIB = 2 ** 20;
  const bytes = Buffer.alloc(3.5 * MIB, 'old');
  await putFile(there.root, 'file', bytes);
  const version = (await there.driver.stat('file', {})).version;
  const target = Buffer.alloc(bytes.length);
  const told: number[] = [];
  const progress = (count: number) => void told.push(count);
  expect(await there.driver.readInto('file', target, { offset: 0, version, progress })).toBe(bytes.length);
  expect(told).toEqual([MIB, 2 * MIB, 3 * MIB]);
  const change = (count: number) => {
    told.push(count);
    fs.writeFileSync(path.join(there.root, 'file'), Buffer.alloc(bytes.length, 'new'));
    expect(target.subarray(0, count).equals(bytes.subarray(0, count))).toBe(true);
  };
  told.length = 0;
  await expect(
    there.driver.readInto('file', target, { offset: 0, version, progress: change }),
  ).rejects.toEqual(withCode('TIERED_SOURCE_CHANGED'));
  expect(told).toEqual([MIB]);
});

it('a read that is aborted while it looks at the file tells of no progress any more', async () => {
  const there = await place({ writable: true, blockingCalls: false, nativeThreads: 0 });
  const bytes = Buffer.alloc(3 * 2 ** 20, 'old');
  await there.driver.write('file', bytes, { size: bytes.length });
  const { version } = await there.driver.stat('file', {});
  const [looked, lookedOn] = [gate(), gate()];
  const { fstat } = fs;
  onTestFinished(() => void Object.assign(fs, { fstat }));
  // As on a disk that is busy.
  fs.fstat = ((...args: Parameters<typeof fstat>) => {
    looked.open();
    void lookedOn.passed.then(() => fstat(...args));
  }) as typeof fstat;
  const controller = new AbortController();
  const told: number[] = [];
  const reading = there.driver.readInto('file', Buffer.alloc(bytes.length), {
    offset: 0,
    version,
    signal: controller.signal,
    progress: (count) => told.push(count),
  });
  await looked.passed;
  const reason = new Error('no longer wanted');
  controller.abort(reason);
  await expect(reading).rejects.toBe(reason);
  lookedOn.open();
  // The close waits for what was left behind.
  await settledTo(there.driver, 0);
  expect(told).toEqual([]);
});
