import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { systemClock } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { failureOf, IoThreads, native, type IoThreadsOptions } from '@tiered/native';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { compile } from '../packages/native/src-c/compile.js';
import { SlowMount, type SlowMountOptions } from '../tools/fuse/slow-mount.js';

const HOUR_MS = 3_600_000;
const FILES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

const missing = await whatIsMissing();
let mirrored: string;

/**
 * Why a file system that hangs cannot be read by native threads here, with the command that installs what is
 * missing.
 */
async function whatIsMissing(): Promise<string | undefined> {
  const mount = await SlowMount.missing();
  if (mount !== undefined) return mount;
  try {
    await compile();
  } catch (error) {
    return (error as Error).message;
  }
  const state = native();
  return state.available ? undefined : state.reason;
}

beforeEach(async () => {
  mirrored = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  for (const name of FILES) await fs.writeFile(path.join(mirrored, name), name.repeat(1000));
});

afterEach(() => fs.rm(mirrored, { recursive: true }));

/** Threads on a mount whose reads hang until it is closed. */
async function hanging(options: Partial<IoThreadsOptions>): Promise<{ mount: SlowMount; io: IoThreads }> {
  const mount = await SlowMount.start(mirrored, { readMs: HOUR_MS });
  onTestFinished(() => mount.close());
  return { mount, io: new IoThreads({ root: mount.directory, threads: 4, ...options }) };
}

async function reached(mount: SlowMount, reads: number): Promise<void> {
  while (mount.counts().read < reads) await systemClock.turn();
}

function requestsFor(keys: readonly string[], isShared = true) {
  const bufferOf = () => (isShared ? new SharedArrayBuffer(1000) : new ArrayBuffer(1000));
  return keys.map((key) => ({ key, offset: 0, target: new Uint8Array(bufferOf()) }));
}

const codesOf = (outcomes: Float64Array) => Array.from(outcomes, failureOf);
const ALL_ABORTED = FILES.map(() => 'ABORTED');

describe.skipIf(missing !== undefined && process.env['CI'] !== 'true')('storage that hangs', () => {
  it('gives the targets back at once if it may hang, and others take the place of the threads', async () => {
    const clock = new ManualClock();
    const { mount, io } = await hanging({ mayHang: true, clock });
    const batches = [];
    for (const [round, isShared] of [true, false, true].entries()) {
      const controller = new AbortController();
      const requests = requestsFor(FILES, isShared);
      const reading = io.readMany(requests, { signal: controller.signal });
      await reached(mount, 4 * (round + 1));
      controller.abort();
      expect(codesOf((await reading).outcomes)).toEqual(ALL_ABORTED);
      expect(io.counts).toMatchObject({ left: 4 * (round + 1), items: 0 });
      for (const { target } of requests) target.fill(1);
      batches.push(...requests);
    }
    let isClosed = false;
    const closing = io.close().then(() => (isClosed = true));
    for (let i = 0; i < 10; i++) await systemClock.turn();
    expect(isClosed).toBe(false);
    await clock.advance(1000);
    await closing;
    // What comes late goes nowhere.
    await mount.close();
    for (let i = 0; i < 100; i++) await systemClock.turn();
    for (const { target } of batches) expect(target.every((byte) => byte === 1)).toBe(true);
  });

  it('gives pieces back at once if it may hang, and their descriptors may be closed', async () => {
    const { mount, io } = await hanging({ mayHang: true });
    const file = await fs.open(path.join(mount.directory, 'a'));
    const controller = new AbortController();
    const reading = io.readAt(file.fd, new Uint8Array(new SharedArrayBuffer(10)), 0, {
      signal: controller.signal,
    });
    await reached(mount, 1);
    controller.abort();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
    await file.close();
    await mount.close();
    await io.close();
  });

  it('has the abort wait for the threads otherwise, but not for an ArrayBuffer, of which they know nothing', async () => {
    const { mount, io } = await hanging({});
    const controller = new AbortController();
    const { signal } = controller;
    let isOver = false;
    const shared = io.readMany(requestsFor(FILES.slice(0, 2)), { signal }).finally(() => (isOver = true));
    const own = io.readMany(requestsFor(FILES.slice(2, 4), false), { signal });
    await reached(mount, 4);
    controller.abort();
    expect(codesOf((await own).outcomes)).toEqual(['ABORTED', 'ABORTED']);
    for (let i = 0; i < 10; i++) await systemClock.turn();
    expect(isOver).toBe(false);
    await mount.close();
    for (const code of codesOf((await shared).outcomes)) expect(code).toMatch(/^E/);
    await io.close();
  });

  it('costs a request of each kind for a file of a known version, and a second read for one of no version', async () => {
    const mount = await SlowMount.start(mirrored);
    onTestFinished(() => mount.close());
    const { mtimeNs, size, ino } = await fs.stat(path.join(mount.directory, 'a'), { bigint: true });
    const version = [mtimeNs, size, ino].map((number) => number.toString(36)).join('-');
    const io = new IoThreads({ root: mount.directory });
    mount.reset();
    const target = new Uint8Array(new SharedArrayBuffer(5000));
    expect((await io.readMany([{ key: 'a', offset: 0, target, version }])).outcomes).toEqual(
      new Float64Array([1000]),
    );
    expect(mount.counts()).toMatchObject({ open: 1, read: 1, release: 1 });
    expect(mount.counts().getattr).toBeLessThanOrEqual(1);
    await io.close();
  });
});

describe.skipIf(missing !== undefined && process.env['CI'] !== 'true')(
  'FileSystemDriver in native threads',
  () => {
    async function driverOn(
      options: SlowMountOptions,
    ): Promise<{ mount: SlowMount; driver: FileSystemDriver }> {
      const mount = await SlowMount.start(mirrored, options);
      onTestFinished(() => mount.close());
      const driver = new FileSystemDriver({ root: mount.directory });
      await driver.open({});
      expect(driver.capabilities.threads).toBe('native');
      return { mount, driver };
    }

    it('has as many reads under way as are asked for, and not the four that Node has', async () => {
      const { mount, driver } = await driverOn({ readMs: HOUR_MS });
      const versions = new Map<string, string>();
      for (const key of FILES) versions.set(key, (await driver.stat(key, {})).version);
      const whole = FILES.map((key) =>
        driver.read(key, { offset: 0, length: 1000, version: versions.get(key) }),
      );
      const pieces = FILES.map((key) => driver.readInto(key, new Uint8Array(10), { offset: 5 }));
      const all = Promise.allSettled([...whole, ...pieces]);
      await reached(mount, 2 * FILES.length);
      await mount.close();
      for (const { status } of await all) expect(status).toBe('rejected');
      await driver.close();
    });

    it('[K3] asks for an object once to open, for its bytes, and for one look if a version is asked for', async () => {
      const { mount, driver } = await driverOn({ cacheSeconds: 0 });
      const { version } = await driver.stat('a', {});
      mount.reset();
      expect(await driver.read('a', { offset: 0, length: 1000, version })).toHaveLength(1000);
      expect(mount.counts()).toMatchObject({ open: 1, read: 1, getattr: 1 });
      mount.reset();
      for (const offset of [0, 500])
        expect(await driver.read('b', { offset, length: 500 })).toHaveLength(500);
      expect(mount.counts()).toMatchObject({ open: 1, read: 2, getattr: 0 });
      await driver.close();
    });
  },
);

it.skipIf(missing !== undefined && process.env['CI'] !== 'true')(
  'a read at once says whether it waited for the storage, or found all in memory',
  async () => {
    const mount = await SlowMount.start(mirrored, { readMs: 5 });
    onTestFinished(() => mount.close());
    const target = new Uint8Array(1000);
    const slow = new IoThreads({ root: mount.directory });
    onTestFinished(() => slow.close());
    for (const key of FILES) {
      expect(slow.readNow(key, target, 0)).toBe(1000);
      expect(slow.hasWaited, `of ${key} on the mount`).toBe(true);
    }
    const fast = new IoThreads({ root: await fs.realpath(mirrored) });
    onTestFinished(() => fast.close());
    const waits = FILES.filter((key) => {
      fast.readNow(key, target, 0);
      return fast.hasWaited;
    });
    // A lock of the kernel may be waited for once in a while.
    expect(waits.length).toBeLessThan(FILES.length / 2);
  },
);
