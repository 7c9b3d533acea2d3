import { placeChannel } from '@tiered/core/tracing';
import { HoldingDriver, TraceLog } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { memoryWith, objectsOf, startHierarchy, until } from '../packages/tiering/test/helpers.js';

it('[F1] [T3] an object that another process is placing is placed once that has it', async () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-two-'));
  onTestFinished(() => fs.rmSync(root, { recursive: true, force: true }));
  const source = await memoryWith(objectsOf([30, 30]));
  const tier = () => ({ driver: new FileSystemDriver({ root, writable: true }), quota: '1MiB' }) as const;
  const slow = new HoldingDriver(source, { operations: ['readInto'] });
  const [first, second] = [await startHierarchy(slow, [tier()]), await startHierarchy(source, [tier()])];
  onTestFinished(() => Promise.all([first.close(), second.close()]).then(() => undefined));
  using log = new TraceLog(placeChannel);
  /** Lets all go, or what is read of one object, until something is done. */
  const letGo = async (done: Promise<number>, key?: string) => {
    let isDone = false;
    void done.then(() => (isDone = true));
    await until(() => {
      const index = slow.held.findIndex((call) => key === undefined || call.key === key);
      if (index !== -1) void slow.release({ index });
      return isDone;
    });
    return done;
  };

  const placing = first.place('0');
  await until(() => slow.held.length > 0);
  // Once a later one is there, the claim of the first one is recorded.
  await letGo(first.place('1'), '1');
  const waiting = second.place('0');
  await until(() => log.traces.some(({ outcome }) => outcome === 'elsewhere'));
  expect([await letGo(placing), await waiting]).toEqual([0, 0]);
});
