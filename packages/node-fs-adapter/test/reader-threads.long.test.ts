import { execFile } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import type { StorageDriver } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KnownInodes } from '../src/read/thread/known-inodes.js';
import {
  childCommand,
  onLinux,
  place,
  putFile,
  SECRET,
  snapshot,
  temporaryDirectory,
  textOf,
  textsOf,
  turn,
  withCode,
  type Place,
} from './helpers.js';

const KEYS = Array.from({ length: 40 }, (_, i) => `dir-${i % 3}/${i}`);

/** A driver on a root with files that hold their own keys. */
async function withFiles(options: Parameters<typeof place>[0] = {}): Promise<Place> {
  const there = await place({ nativeThreads: 0, ...options });
  for (const key of KEYS) await putFile(there.root, key, Buffer.from(key));
  return there;
}

/** All of them, in two batches at the same time. */
function twice(driver: StorageDriver): Promise<unknown[][]> {
  return Promise.all([textsOf(driver, KEYS), textsOf(driver, KEYS)]);
}

/** A driver whose threads have started: until then batches are read one by one. */
async function withThreads(
  options: Parameters<typeof place>[0] = {},
): Promise<Place & { threads: Worker[] }> {
  const there = await withFiles(options);
  const threads = threadsStarted();
  await startThreads(there.driver, threads);
  return { ...there, threads };
}

/** Has the driver start its threads, and waits for them. */
async function startThreads(driver: StorageDriver, threads: Worker[]): Promise<void> {
  const before = threads.length;
  await textsOf(driver, ['none']);
  await Promise.all(threads.slice(before).map((thread) => once(thread, 'online')));
}

/** The threads that this process starts while the test runs. */
function threadsStarted(): Worker[] {
  const threads: Worker[] = [];
  const listen = (worker: Worker) => threads.push(worker);
  process.on('worker', listen);
  onTestFinished(() => void process.off('worker', listen));
  return threads;
}

describe.skipIf(onLinux.skip)('batches into shared memory', () => {
  it('are read by threads, which start once and keep no file open', async () => {
    const { driver, threads } = await withThreads();
    expect(await twice(driver)).toEqual([KEYS, KEYS]);
    expect(driver.openFiles).toBe(0);
    for (let round = 0; round < 3; round++) expect(await twice(driver)).toEqual([KEYS, KEYS]);
    expect(threads).toHaveLength(2);
  });

  it('are shared by two threads if they are large', async () => {
    const { root, driver, threads } = await withThreads();
    await putFile(root, 'file', someBytes(1_000_000, 1));
    const memory = new SharedArrayBuffer(9_000_000);
    const targets = Array.from({ length: 9 }, (_, i) => new Uint8Array(memory, i * 1_000_000, 1_000_000));
    const outcomes = await driver.readMany(
      targets.map((target) => ({ key: 'file', offset: 0, target })),
      {},
    );
    expect(outcomes).toEqual(targets.map(() => ({ bytes: 1_000_000 })));
    for (const target of targets) expect(Buffer.compare(target, someBytes(1_000_000, 1))).toBe(0);
    expect(threads).toHaveLength(2);
  });

  it('are shared by the threads also if they come at the same time', async () => {
    const { driver, threads } = await withThreads({ readerThreads: 3 });
    const batches = KEYS.map((_, i) => [...KEYS.slice(i), ...KEYS.slice(0, i)]);
    expect(await Promise.all(batches.map((keys) => textsOf(driver, keys)))).toEqual(batches);
    expect(threads).toHaveLength(3);
  });

  it('start no thread if there are to be none, nor does any other read', async () => {
    const threads = threadsStarted();
    expect(await textsOf((await withFiles({ readerThreads: 0 })).driver, KEYS)).toEqual(KEYS);
    const { driver } = await withFiles();
    const requests = KEYS.map((key) => ({ key, offset: 0, target: new Uint8Array(4) }));
    expect(await driver.readMany(requests, {})).toEqual(KEYS.map(() => ({ bytes: 4 })));
    expect(threads).toEqual([]);
  });

  it('a number of threads that cannot be is TIERED_CONFIG_INVALID', async () => {
    for (const readerThreads of [-1, 0.5, Number.NaN])
      await expect(place({ readerThreads })).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
  });

  it('end their threads at close(), and start others after open()', async () => {
    const { driver, threads } = await withThreads();
    await twice(driver);
    const ended = Promise.all(threads.map((thread) => once(thread, 'exit')));
    await driver.close();
    await ended;
    await driver.open({});
    await startThreads(driver, threads);
    // More than once: on a busy machine the first batches may have been slow, and the next ones go the other
    // way.
    for (let round = 0; round < 3; round++) expect(await twice(driver)).toEqual([KEYS, KEYS]);
    expect(threads).toHaveLength(4);
  });

  it('keep a process from its end while they are read, and not afterwards', async () => {
    const { root } = await place();
    await putFile(root, 'file', Buffer.from('bytes'));
    const [node, args] = childCommand('read-and-leave.ts', root);
    expect(JSON.parse((await promisify(execFile)(node, args)).stdout)).toEqual({
      outcomes: [{ bytes: 5 }],
      text: 'bytes',
      openFiles: 0,
    });
  });

  it('that were left do not end a process which waits for the end of their threads', async () => {
    const { root } = await place();
    await putFile(root, 'file', Buffer.from('bytes'));
    const [node, args] = childCommand('end-threads.ts', root, 'file', '20');
    const { stdout } = await promisify(execFile)(node, args);
    expect(stdout).toBe('ended\n'.repeat(20));
  });

  it('are read all the same if a thread ends in the midst of them', async () => {
    const { driver, threads } = await withThreads();
    for (let round = 0; round < 20; round++) {
      const reading = textsOf(driver, KEYS);
      await turn();
      void threads.at(-1)?.terminate();
      expect(await reading).toEqual(KEYS);
    }
    expect(threads.length).toBeGreaterThan(1);
  });

  it('go the other way for once after one of which threads could read nothing', async () => {
    const { driver } = await withThreads();
    const missing = withCode('TIERED_NOT_FOUND');
    expect(await textsOf(driver, ['none', 'of', 'these'])).toEqual([missing, missing, missing]);
    expect(await textsOf(driver, KEYS.slice(0, 5))).toEqual(KEYS.slice(0, 5));
    expect(driver.openFiles, 'files that single reads keep open').toBe(5);
    expect(await textsOf(driver, KEYS)).toEqual(KEYS);
    expect(driver.openFiles).toBe(5);
  });

  it('[K1] do not follow links out of the root, wherever in the batch they are', async () => {
    const { root, outside, driver } = await withThreads();
    fs.symlinkSync('../outside/secret', path.join(root, 'file'));
    fs.symlinkSync('../outside', path.join(root, 'out'));
    fs.symlinkSync('dir-0', path.join(root, 'in'));
    const refused = withCode('TIERED_KEY_INVALID');
    const before = await snapshot(outside);
    const keys = ['dir-0/0', 'file', 'in/3', 'out/secret', '../outside/secret', 'out/deep/secret', 'dir-1/1'];
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
    const { root, driver } = await withThreads({ maxOpenFiles: 1 });
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

  it('see the file that is there now, also if another one is kept open', async () => {
    const { root, driver } = await withThreads();
    expect(await textOf(driver, 'dir-0/0')).toBe('dir-0/0');
    await putFile(root, 'dir-0/0', Buffer.from('new'));
    expect(await textsOf(driver, ['dir-0/0'])).toEqual(['new']);
  });
});

describe.skipIf(onLinux.skip)('what a thread remembers of an inode', () => {
  /** Descriptors of a file inside a root and of one outside, and what is known of the first. */
  async function files() {
    const directory = await temporaryDirectory();
    await putFile(directory, 'root/file', Buffer.from('inside'));
    await putFile(directory, 'secret', Buffer.from(SECRET));
    const [inside, outside] = ['root/file', 'secret'].map((name) =>
      fs.openSync(path.join(directory, name), 'r'),
    );
    onTestFinished(() => {
      for (const fd of [inside, outside]) fs.closeSync(fd ?? -1);
      fs.rmSync(directory, { recursive: true });
    });
    const known = new KnownInodes(path.join(directory, 'root'));
    const { dev, ino } = fs.fstatSync(inside ?? -1);
    const longAgo = { dev, ino, ctimeMs: 1000 };
    return { inside: inside ?? -1, outside: outside ?? -1, known, longAgo };
  }

  it('is that it was inside, so that the kernel is asked once', async () => {
    const { inside, outside, known, longAgo } = await files();
    expect(known.has(outside, longAgo)).toBe(false);
    expect(known.has(inside, longAgo)).toBe(true);
    // The kernel would say no, if it were asked.
    expect(known.has(outside, longAgo)).toBe(true);
  });

  it('[K1] is nothing for another inode, device or time of change', async () => {
    const { inside, outside, known, longAgo } = await files();
    expect(known.has(inside, longAgo)).toBe(true);
    for (const other of [{ ino: longAgo.ino + 1 }, { dev: longAgo.dev + 1 }, { ctimeMs: 1000.5 }])
      expect(known.has(outside, { ...longAgo, ...other })).toBe(false);
  });

  it('[K1] is nothing if its number, or its time of change, could be that of another', async () => {
    const { inside, outside, known, longAgo } = await files();
    const justNow = fs.fstatSync(inside);
    for (const unsure of [justNow, { ...longAgo, ino: 2 ** 60 }, { ...longAgo, dev: longAgo.dev + 1 }]) {
      expect(known.has(inside, unsure)).toBe(true);
      expect(known.has(outside, unsure)).toBe(false);
    }
  });
});
