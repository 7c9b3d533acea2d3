import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Worker } from 'node:worker_threads';
import { systemClock } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { slowNode, TickingClock } from '../packages/node-fs-adapter/test/ticking.js';
import { SlowMount, type SlowMountOptions } from '../tools/fuse/slow-mount.js';

const HOUR_MS = 3_600_000;
const KEYS = Array.from({ length: 64 }, (_, i) => `${i}`);
const WORKERS = 12;

const missing = await SlowMount.missing();
let mirrored: string;

beforeEach(async () => {
  mirrored = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  for (const key of KEYS) await fs.writeFile(path.join(mirrored, key), key);
});

afterEach(() => fs.rm(mirrored, { recursive: true }));

/** A driver without native threads on a mount, and its worker threads. */
async function driverOn(mounted: SlowMountOptions, clock = systemClock) {
  const mount = await SlowMount.start(mirrored, mounted);
  onTestFinished(() => mount.close());
  const root = mount.directory;
  const driver = new FileSystemDriver({
    root,
    clock,
    nativeThreads: 0,
    workerThreads: WORKERS,
    maxOpenFiles: 1,
  });
  await driver.open({});
  const workers: Worker[] = [];
  const listen = (worker: Worker) => workers.push(worker);
  process.on('worker', listen);
  onTestFinished(() => void process.off('worker', listen));
  const read = async (key: string) =>
    Buffer.from(await driver.read(key, { offset: 0, length: 10 })).toString();
  return { mount, driver, workers, read };
}

describe.skipIf(missing !== undefined && process.env['CI'] !== 'true')(
  'FileSystemDriver without native threads, on slow storage',
  () => {
    it('starts worker threads as reads wait, up to what it may, and ends them at close()', async () => {
      const { driver, workers, read } = await driverOn({ openMs: 5, readMs: 5 });
      while (workers.length < WORKERS) expect(await Promise.all(KEYS.map(read))).toEqual(KEYS);
      for (let round = 0; round < 3; round++) expect(await Promise.all(KEYS.map(read))).toEqual(KEYS);
      expect(workers).toHaveLength(WORKERS);
      await driver.close();
      expect(
        workers.map(({ threadId }) => threadId),
        'of threads that have ended',
      ).toEqual(workers.map(() => -1));
      expect(driver.openFiles).toBe(0);
    });

    it('is closed while it hangs, leaves Node its own threads, and starts no more than it may in all', async () => {
      const clock = new TickingClock();
      const { mount, driver, workers, read } = await driverOn({ readMs: HOUR_MS }, clock);
      const restore = slowNode();
      while (workers.length < WORKERS) await Promise.allSettled(KEYS.map(() => read('none')));
      restore();
      const reads = KEYS.map((key) => read(key).catch(() => undefined));
      while (mount.counts().read < WORKERS) await systemClock.turn();
      await clock.run(driver.close());
      await driver.open({});
      reads.push(read('0').catch(() => undefined));
      expect(await driver.stat('1', {})).toMatchObject({ size: 1 });
      await clock.run(driver.close());
      expect(workers).toHaveLength(WORKERS);
      expect(mount.counts().read).toBe(WORKERS);
      await mount.close();
      await Promise.all(reads);
      while (driver.openFiles > 0) await systemClock.turn();
      await driver.close();
    });
  },
);
