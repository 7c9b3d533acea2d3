import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Hierarchy, systemClock } from '@tiered/core';
import { native } from '@tiered/native';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { SlowMount } from '../tools/fuse/slow-mount.js';

const missing = await SlowMount.missing();
const BYTES = 100_000;
const reason = new Error('enough');

let mirrored: string;
let mount: SlowMount;
let driver: FileSystemDriver;
let hierarchy: Hierarchy;
/** Lets the storage answer again. */
let goesOn: () => void;

beforeEach(async () => {
  if (missing !== undefined) return;
  goesOn = () => undefined;
  mirrored = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  for (const key of ['a', 'b']) await fs.writeFile(path.join(mirrored, key), Buffer.alloc(BYTES, key));
  mount = await SlowMount.start(mirrored, { cacheSeconds: 0, readMs: 3_600_000 });
  driver = new FileSystemDriver({ root: mount.directory });
  hierarchy = await new Hierarchy({ source: driver }).open();
});

afterEach(async () => {
  if (missing !== undefined) return;
  goesOn();
  await mount.close();
  await hierarchy.close();
  expect(driver.openFiles).toBe(0);
  await fs.rm(mirrored, { recursive: true });
});

/** How a call ends whose signal aborts once it waits for the storage. */
async function aborted(
  call: (signal: AbortSignal) => Promise<unknown>,
  waits: () => Promise<void>,
): Promise<unknown> {
  const controller = new AbortController();
  const ended = call(controller.signal).then(
    () => 'succeeded',
    (error: unknown) => error,
  );
  await waits();
  controller.abort(reason);
  return ended;
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 1000; turn++) await systemClock.turn();
}

/** Stops a process. Each of its threads may answer until it has stopped. */
async function stop(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  for (;;) {
    const threads = await fs.readdir(`/proc/${pid}/task`);
    const stats = await Promise.all(
      threads.map((id) => fs.readFile(`/proc/${pid}/task/${id}/stat`, 'latin1')),
    );
    if (stats.every((stat) => /\) T /.test(stat))) return;
    await systemClock.turn();
  }
}

async function isReading(): Promise<void> {
  while (mount.counts().read === 0) await systemClock.turn();
}

type Call = (signal: AbortSignal) => Promise<unknown>;

const LOOKS: Readonly<Record<string, Call>> = {
  rescan: (signal) => hierarchy.rescan({ signal }),
  'a listing of the driver': (signal) => driver.list({ signal }).next(),
  usage: (signal) => driver.usage({ signal }),
  'stat of what is not known': (signal) => hierarchy.stat('new', { signal }),
};

const READS: Readonly<Record<string, Call>> = {
  read: (signal) => hierarchy.read('a', { signal }),
  'readInto of an ArrayBuffer': (signal) => hierarchy.readInto('a', new Uint8Array(BYTES), { signal }),
  'readMany of ArrayBuffers': (signal) =>
    hierarchy.readMany([{ key: 'a', target: new Uint8Array(BYTES) }], { signal }),
};

const shared = () => new Uint8Array(new SharedArrayBuffer(BYTES));
const SHARED_READS: Readonly<Record<string, Call>> = {
  readInto: (signal) => hierarchy.readInto('a', shared(), { signal }),
  readMany: (signal) => hierarchy.readMany([{ key: 'a', target: shared() }], { signal }),
};

describe.skipIf(missing !== undefined)('[B1] while the source does not answer', () => {
  it.each(Object.entries(LOOKS))('an abort ends %s at once', async (_, call) => {
    goesOn = () => void process.kill(mount.pid, 'SIGCONT');
    await stop(mount.pid);
    expect(await aborted(call, turns)).toBe(reason);
  });

  it.runIf(native().available).each(Object.entries(READS))('an abort ends %s at once', async (_, call) => {
    expect(await aborted(call, isReading)).toBe(reason);
  });

  it.runIf(native().available).each(Object.entries(SHARED_READS))(
    'an abort ends %s of shared memory once the storage writes there no more',
    async (_, call) => {
      let hasEnded = false;
      const ended = aborted((signal) => call(signal).finally(() => (hasEnded = true)), isReading);
      await isReading();
      await turns();
      expect(hasEnded).toBe(false);
      await mount.close();
      expect(await ended).toBe(reason);
    },
  );

  it('an abort of a read in Node’s pool ends with its call, which keeps a thread until then', async () => {
    const inPool = new FileSystemDriver({ root: mount.directory, nativeThreads: 0 });
    await inPool.open({});
    onTestFinished(() => inPool.close());
    let hasEnded = false;
    const target = new Uint8Array(BYTES);
    const ended = aborted(
      (signal) => inPool.readInto('a', target, { offset: 0, signal }).finally(() => (hasEnded = true)),
      isReading,
    );
    await isReading();
    await turns();
    expect(hasEnded).toBe(false);
    expect(inPool.openFiles).toBe(1);
    await mount.close();
    expect(await ended).toBe(reason);
  });
});

if (missing !== undefined)
  it(`[B1] needs a slow mount: ${missing}`, (context) => {
    expect(process.env['CI'], missing).not.toBe('true');
    context.skip();
  });
