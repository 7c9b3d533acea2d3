import { execFile } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { isTieredError } from '@tiered/core';
import { ManualClock, someBytes, ticked } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { THREADS } from '../src/read/thread-pool.js';
import {
  childCommand,
  descriptorsBelow,
  onLinux,
  place,
  putFile,
  settledTo,
  textOf,
  turn,
  withCode,
  type Place,
} from './helpers.js';
import { slowNode, TickingClock } from './ticking.js';

const KEYS = Array.from({ length: 64 }, (_, i) => `dir-${i % 3}/${i}`);

/**
 * A source of files that hold their own keys, read without native threads, and the worker threads that start
 * while it is.
 */
async function source(options: Parameters<typeof place>[0] = {}): Promise<Place & { workers: Worker[] }> {
  const workers: Worker[] = [];
  const listen = (worker: Worker) => workers.push(worker);
  process.on('worker', listen);
  onTestFinished(() => void process.off('worker', listen));
  const there = await place({ nativeThreads: 0, ...options });
  for (const key of KEYS) await putFile(there.root, key, Buffer.from(key));
  return { ...there, workers };
}

/** As `source`, which is slow, also by its clock, so that a worker has started. */
async function slow(options: Parameters<typeof place>[0] = {}): ReturnType<typeof source> {
  const there = await source({ clock: new TickingClock(), ...options });
  onTestFinished(slowNode());
  return there;
}

/** Reads all files, so many at a time. */
async function readAll({ driver }: Place, atATime = KEYS.length): Promise<string[]> {
  const texts: string[] = [];
  for (let i = 0; i < KEYS.length; i += atATime)
    texts.push(...(await Promise.all(KEYS.slice(i, i + atATime).map((key) => textOf(driver, key)))));
  return texts;
}

const exits = (workers: readonly Worker[]) => Promise.all(workers.map((worker) => once(worker, 'exit')));

/** How often this thread asks Node for one of these calls while something runs. */
async function countCalls(run: () => Promise<unknown>): Promise<number> {
  const { open, read, fstat } = fs;
  let count = 0;
  const counting =
    <T extends unknown[]>(call: (...args: T) => unknown) =>
    (...args: T) => {
      count += 1;
      return call(...args);
    };
  Object.assign(fs, { open: counting(open), read: counting(read), fstat: counting(fstat) });
  try {
    await run();
  } finally {
    Object.assign(fs, { open, read, fstat });
  }
  return count;
}

describe('worker threads for reads', () => {
  it('make the calls of a slow source, which Node is not asked for any more', async () => {
    const there = await slow();
    const { root, driver } = there;
    await putFile(root, 'file', Buffer.from('bytes'));
    const { version } = await driver.stat('file', {});
    // A worker that is online takes calls when it has said that it is ready; that storage is slow may be
    // forgotten by then.
    while ((await countCalls(() => readAll(there, 1))) > 0) await readAll(there);
    const calls = await countCalls(async () => {
      expect(await readAll(there, 1)).toEqual(KEYS);
      const bytes = await driver.read('file', { offset: 0, length: 100, version });
      expect(Buffer.from(bytes).toString()).toBe('bytes');
    });
    expect(calls).toBe(0);
  });

  it('are started one after the other as reads wait, and never more than there may be', async () => {
    const most = THREADS + 2;
    let [online, together] = [0, 0];
    const listen = (worker: Worker) => {
      together = Math.max(together, there.workers.length - online);
      worker.once('online', () => (online += 1));
    };
    const there = await source({ maxOpenFiles: 1 });
    process.on('worker', listen);
    onTestFinished(() => void process.off('worker', listen));
    const clock = new TickingClock();
    const driver = new FileSystemDriver({ root: there.root, nativeThreads: 0, workerThreads: most, clock });
    await driver.open({});
    onTestFinished(slowNode());
    while (online < most) expect(await readAll({ ...there, driver })).toEqual(KEYS);
    for (let round = 0; round < 5; round++) expect(await readAll({ ...there, driver })).toEqual(KEYS);
    expect(there.workers).toHaveLength(most);
    expect(together, 'that had not started at the same time').toBe(1);
    await driver.close();
  });

  it('are not started while no more reads wait than Node has threads, however slow they are', async () => {
    const there = await source({ maxOpenFiles: 1 });
    const driver = new FileSystemDriver({ root: there.root, nativeThreads: 0, clock: new TickingClock() });
    await driver.open({});
    onTestFinished(slowNode());
    for (let round = 0; round < 5; round++)
      expect(await readAll({ ...there, driver }, THREADS)).toEqual(KEYS);
    await driver.close();
    expect(there.workers).toEqual([]);
  });

  it('are not started on fast storage, however many reads wait', async () => {
    const there = await source({ clock: new ManualClock(), maxOpenFiles: 1 });
    for (let round = 0; round < 20; round++) expect(await readAll(there)).toEqual(KEYS);
    expect(there.workers).toEqual([]);
  });

  it('are not started because storage was slow for once', async () => {
    const clock = new ManualClock();
    const there = await source({ clock, maxOpenFiles: 1 });
    for (let round = 0; round < 20; round++) {
      const reading = readAll(there);
      // Until the calls have begun.
      await ticked();
      clock.pass(round === 3 ? 1000 : 0);
      expect(await reading).toEqual(KEYS);
    }
    expect(there.workers).toEqual([]);
  });

  it('are not started because the event loop computes, so that calls are seen late', async () => {
    const clock = new ManualClock();
    const there = await source({ clock });
    let isOver = false;
    const reading = Promise.all([1, 2, 3].map(() => readAll(there, 16))).finally(() => (isOver = true));
    while (!isOver) {
      // Meanwhile all calls end that have begun.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
      clock.pass(1000);
      await turn();
    }
    expect(await reading).toEqual([KEYS, KEYS, KEYS]);
    expect(there.workers).toEqual([]);
  });

  it('are neither for tiers nor beside native ones, and the driver says what it reads with', async () => {
    const root = '/data';
    const of = (options: object) => {
      const { threads, readsAtOnce } = new FileSystemDriver({ root, ...options }).capabilities;
      return [threads, readsAtOnce];
    };
    expect(of({ nativeThreads: 0 })).toEqual(['workers', 16]);
    expect(of({ nativeThreads: 0, workerThreads: 32 })).toEqual(['workers', 32]);
    expect(of({ nativeThreads: 0, workerThreads: 0 })).toEqual(['node', THREADS]);
    expect(of({ nativeThreads: 0, workerThreads: THREADS })).toEqual(['node', THREADS]);
    expect(of({ nativeThreads: 0, writable: true })).toEqual(['node', THREADS - 1]);
    for (const workerThreads of [-1, 0.5, 33, Number.NaN])
      expect(() => of({ workerThreads })).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });

  it('end when they were idle for ten seconds, and start again when they are needed', async () => {
    const clock = new TickingClock();
    const there = await slow({ clock, maxOpenFiles: 1 });
    await readAll(there);
    const ended = exits(there.workers);
    const started = there.workers.length;
    while (clock.sleepingInBackground > 0) await clock.advance(10_000);
    await ended;
    expect(await readAll(there)).toEqual(KEYS);
    while (there.workers.length === started) await readAll(there);
    expect(await readAll(there)).toEqual(KEYS);
  });

  it('end at close(), with nothing left open', async () => {
    const there = await slow();
    expect(await readAll(there)).toEqual(KEYS);
    const ended = exits(there.workers);
    await there.driver.close();
    await ended;
    expect(there.driver.openFiles).toBe(0);
    if (!onLinux.skip) expect(await descriptorsBelow(there.root)).toBe(0);
    await there.driver.open({});
    expect(await readAll(there)).toEqual(KEYS);
  });

  it('that are closed in the midst of reads let them end, or be refused', async () => {
    const there = await slow({ workerThreads: THREADS + 1, maxOpenFiles: 1 });
    const reading = KEYS.map((key) => textOf(there.driver, key));
    await turn();
    const closing = there.driver.close();
    for (const [i, read] of (await Promise.allSettled(reading)).entries()) {
      if (read.status === 'fulfilled') expect(read.value).toBe(KEYS[i]);
      else expect(isTieredError(read.reason)).toBe(true);
    }
    await closing;
    await settledTo(there.driver, 0);
  });

  it('may end in the midst of reads, which are made all the same', async () => {
    const there = await slow({ maxOpenFiles: 1 });
    for (let round = 0; round < 10; round++) {
      const reading = readAll(there);
      void there.workers.at(-1)?.terminate();
      expect(await reading).toEqual(KEYS);
    }
  });

  it('keep no process from its end', async () => {
    const { root } = await source();
    const [node, args] = childCommand('leave-workers.ts', root, ...KEYS);
    expect(JSON.parse((await promisify(execFile)(node, args)).stdout)).toEqual({
      texts: KEYS,
      threads: 'workers',
    });
  });
});

interface Part {
  readonly offset: number;
  readonly length: number;
  readonly isShared: boolean;
  readonly version: string | undefined;
}

describe('what worker threads read', () => {
  const CONTENT = someBytes(3_000_000, 1);

  it('is any part of a file, into any memory', async () => {
    const { root, driver } = await slow();
    await putFile(root, 'file', CONTENT);
    const { version } = await driver.stat('file', {});
    const size = CONTENT.byteLength;
    const part: fc.Arbitrary<Part> = fc.record({
      offset: fc.nat(size + 10),
      length: fc.oneof(fc.nat(100), fc.nat(size + 10)),
      isShared: fc.boolean(),
      version: fc.constantFrom(undefined, version),
    });
    const check = async ({ offset, length, isShared, version: wanted }: Part) => {
      const buffer = isShared ? new SharedArrayBuffer(length + 2) : new ArrayBuffer(length + 2);
      const target = new Uint8Array(buffer, 1, length);
      const count = await driver.readInto('file', target, { offset, version: wanted });
      const expected = CONTENT.subarray(offset, offset + length);
      expect(count).toBe(expected.byteLength);
      expect(Buffer.compare(target.subarray(0, count), expected)).toBe(0);
      expect([new Uint8Array(buffer)[0], new Uint8Array(buffer).at(-1)], 'around the target').toEqual([0, 0]);
      const read = await driver.read('file', { offset, length, version: wanted });
      expect(Buffer.compare(read, expected)).toBe(0);
    };
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 8 }), async (parts) => {
        await Promise.all(parts.map(check));
      }),
      { numRuns: 30 },
    );
  });

  it('goes to no target after the call has settled, also if it was aborted', async () => {
    const { root, driver } = await slow();
    await putFile(root, 'file', CONTENT);
    const targets: Uint8Array[] = [];
    for (let round = 0; round < 20; round++) {
      const controller = new AbortController();
      const { signal } = controller;
      const target = new Uint8Array(round % 2 === 0 ? new SharedArrayBuffer(500) : new ArrayBuffer(500));
      const reading = driver.readInto('file', target, { offset: round, signal });
      controller.abort(new Error('no longer wanted'));
      await reading.catch(() => undefined);
      targets.push(target.fill(0));
      await driver.readInto('file', new Uint8Array(500), { offset: 1000 });
    }
    for (const target of targets) expect(target).toEqual(new Uint8Array(500));
  });

  it('fails as it would in Node’s pool', async () => {
    const { root, driver } = await slow();
    const other = new FileSystemDriver({ root, nativeThreads: 0, workerThreads: 0 });
    await other.open({});
    fs.mkdirSync(path.join(root, 'directory'));
    fs.symlinkSync('circle', path.join(root, 'circle'));
    const { version } = await driver.stat('dir-1/1', {});
    const failure = async (reads: FileSystemDriver, key: string) => {
      const error: unknown = await reads
        .read(key, { offset: 0, length: 10, version })
        .catch((thrown: unknown) => thrown);
      if (!isTieredError(error)) throw new Error(`${key} did not fail as it must`);
      const { code, message, retryable, operation, cause } = error;
      const { code: errno, syscall, path: at, message: reason } = (cause ?? {}) as NodeJS.ErrnoException;
      return { code, message, retryable, operation, key: error.key, errno, syscall, at, reason };
    };
    const keys = [
      'none',
      'none/below',
      'directory',
      'circle',
      'x'.repeat(300),
      'dir-0/0',
      '../outside/secret',
    ];
    for (const key of keys) expect(await failure(driver, key), key).toEqual(await failure(other, key));
    await other.close();
  });
});
