import fs from 'node:fs';
import path from 'node:path';
import { ManualClock } from '@tiered/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ThreadPool } from '../src/read/thread-pool.js';
import { hang } from './hanging.js';
import { onLinux, place, put, settledTo, textOf, turn, withCode, type Place } from './helpers.js';

const gone = new Error('no longer wanted');
const unavailable = withCode('TIERED_UNAVAILABLE', true);

/** A tier with an object whose reads hang, and others. */
async function tier(options: Parameters<typeof place>[0] = {}): Promise<Place & { clock: ManualClock }> {
  const clock = new ManualClock();
  const there = await place({ writable: true, blockingCalls: false, nativeThreads: 0, clock, ...options });
  for (const key of ['hangs', 'dir/hangs', 'a', 'b', 'c']) await put(there.driver, key);
  return { ...there, clock };
}

/** How many threads of the pool a tier may have. */
const SLOTS = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4) - 1;

describe.skipIf(onLinux.skip)('[B2] a tier that hangs', () => {
  it('keeps nobody who aborts, and does not touch the target afterwards', async () => {
    const there = await tier();
    const hanging = hang(there, 'read');
    const { driver } = there;
    const target = new Uint8Array(5);
    const controller = new AbortController();
    const { signal } = controller;
    const reads = [
      driver.readInto('hangs', target, { offset: 0, signal }),
      driver.read('dir/hangs', { offset: 0, length: 5, signal }),
    ];
    await hanging.reached(2);
    controller.abort(gone);
    for (const read of reads) await expect(read).rejects.toBe(gone);
    expect(hanging.count).toBe(2);
    await hanging.release();
    await settledTo(driver, 2);
    expect(target).toEqual(new Uint8Array(5));
    expect(await textOf(driver, 'hangs')).toBe('hangs');
  });

  it('ends a batch at an abort, with what was read before, and touches no target afterwards', async () => {
    const there = await tier();
    const hanging = hang(there, 'read');
    const { driver } = there;
    const controller = new AbortController();
    const memory = new SharedArrayBuffer(30);
    const targets = [0, 10, 20].map((offset) => new Uint8Array(memory, offset, 10));
    const keys = ['a', 'hangs', 'b'];
    const requests = targets.map((target, i) => ({ key: keys[i] ?? '', offset: 0, target }));
    const reading = driver.readMany(requests, { signal: controller.signal });
    await hanging.reached(1);
    while (Buffer.from(memory).toString().replaceAll('\0', '') !== 'ab') await turn();
    controller.abort(gone);
    expect(await reading).toEqual([{ bytes: 1 }, { error: gone }, { bytes: 1 }]);
    await hanging.release();
    await settledTo(driver, 3);
    expect(targets.map((target) => Buffer.from(target).toString().replaceAll('\0', ''))).toEqual([
      'a',
      '',
      'b',
    ]);
  });

  it('leaves a thread to others, and is TIERED_UNAVAILABLE at once as long as too many calls hang', async () => {
    const there = await tier();
    const hanging = hang(there, 'read');
    const { driver } = there;
    const controller = new AbortController();
    const { signal } = controller;
    const reads = Array.from({ length: SLOTS + 5 }, () =>
      driver.read('hangs', { offset: 0, length: 5, signal }),
    );
    const ended = Promise.allSettled(reads);
    await hanging.reached(SLOTS);
    expect(await fs.promises.readFile(path.join(there.root, 'a'), 'utf8'), 'by a thread that is left').toBe(
      'a',
    );
    controller.abort(gone);
    for (const read of await ended) expect(read).toEqual({ status: 'rejected', reason: gone });
    expect(hanging.count).toBe(SLOTS);
    for (const key of ['hangs', 'a']) await expect(textOf(driver, key)).rejects.toEqual(unavailable);
    await expect(driver.stat('a', {})).rejects.toEqual(unavailable);
    await hanging.release();
    await settledTo(driver, 1);
    expect(await textOf(driver, 'a')).toBe('a');
    expect(await textOf(driver, 'hangs')).toBe('hangs');
  });

  it('is closed all the same, and a call that was left behind closes what it has open when it ends', async () => {
    const there = await tier();
    const hanging = hang(there, 'read');
    const { driver } = there;
    const controller = new AbortController();
    const read = driver.read('hangs', { offset: 0, length: 5, signal: controller.signal });
    await hanging.reached(1);
    controller.abort(gone);
    await expect(read).rejects.toBe(gone);
    await driver.close();
    expect(driver.openFiles).toBe(1);
    await hanging.release();
    await settledTo(driver, 0);
    await driver.open({});
    expect(await textOf(driver, 'hangs')).toBe('hangs');
  });

  it('is closed also while a write hangs', async () => {
    const there = await tier();
    const hanging = hang(there, 'write');
    const { driver, clock } = there;
    const writer = await driver.create('object', { size: 5 });
    const writing = writer.writeAt(new Uint8Array(5), { offset: 0 });
    await hanging.reached(1);
    await clock.run(driver.close());
    expect(hanging.count).toBe(1);
    await hanging.release();
    await writing;
    await settledTo(driver, 0);
    await writer.discard();
  });
});

/** Whether a read blocks: then its file is open before it returns. */
async function blocks({ driver }: Place, key: string): Promise<boolean> {
  const before = driver.openFiles;
  const reading = textOf(driver, key);
  const isOpen = driver.openFiles > before;
  await reading;
  return isOpen;
}

describe.skipIf(onLinux.skip)('[B2] the event loop does not wait', () => {
  it('for storage that has not answered since open()', async () => {
    const there = await tier({ blockingCalls: true });
    await there.driver.close();
    await there.driver.open({});
    expect(await blocks(there, 'a')).toBe(false);
    expect(await blocks(there, 'b')).toBe(true);
  });

  it('for storage that has failed, until it has answered', async () => {
    const there = await tier({ blockingCalls: true });
    expect(await blocks(there, 'a')).toBe(true);
    const { stat } = fs.promises;
    const eio = Object.assign(new Error('EIO: stat'), { code: 'EIO', syscall: 'stat' });
    fs.promises.stat = (() => Promise.reject(eio)) as typeof stat;
    onTestFinished(() => void (fs.promises.stat = stat));
    await expect(there.driver.stat('a', {})).rejects.toEqual(withCode('TIERED_IO', true));
    fs.promises.stat = stat;
    expect(await blocks(there, 'b')).toBe(false);
    expect(await blocks(there, 'c')).toBe(true);
  });

  it('for storage that keeps a call waiting', async () => {
    const there = await tier({ blockingCalls: true });
    const hanging = hang(there, 'read');
    const { driver, clock } = there;
    const controller = new AbortController();
    await driver.close();
    await driver.open({});
    const read = driver.read('hangs', { offset: 0, length: 5, signal: controller.signal });
    await hanging.reached(1);
    controller.abort(gone);
    await expect(read).rejects.toBe(gone);
    clock.pass(1000);
    expect(await blocks(there, 'a')).toBe(false);
    expect(await blocks(there, 'b')).toBe(false);
    await hanging.release();
    expect(await blocks(there, 'c'), 'it took a second').toBe(false);
    await driver.stat('a', {});
    expect(await blocks(there, 'dir/hangs')).toBe(true);
  });
});

async function provenPool(mayLeave: boolean): Promise<ThreadPool> {
  const pool = new ThreadPool(new ManualClock(), mayLeave);
  expect(pool.isProven).toBe(false);
  await pool.watch(() => Promise.resolve());
  expect(pool.isProven).toBe(true);
  return pool;
}

describe('[B2] storage whose call was left by an abort', () => {
  it('has shown nothing, so that the event loop does not wait for it next', async () => {
    const controller = new AbortController();
    const pool = await provenPool(true);
    const left = pool.watchUntilAborted(controller.signal, async () => {
      controller.abort();
      // As a native read does, which goes on below.
      throw controller.signal.reason;
    });
    await expect(left).rejects.toBe(controller.signal.reason);
    expect(pool.isProven).toBe(false);
  });

  it('has answered where calls are waited for to their end, or nobody aborted', async () => {
    const source = await provenPool(false);
    await source.watchUntilAborted(AbortSignal.abort(), () => Promise.resolve());
    const tier = await provenPool(true);
    await tier.watchUntilAborted(new AbortController().signal, () => Promise.resolve());
    expect([source.isProven, tier.isProven]).toEqual([true, true]);
  });
});
