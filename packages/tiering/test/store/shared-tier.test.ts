import { Hierarchy, type StorageDriver } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { FaultDriver, IndexedMemoryDriver, ManualClock } from '@tiered/core/testing';
import { PlacementHandler } from '@tiered/tiering';
import fs from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { indexThreads } from '../../src/index/index-client.js';
import { memoryWith, objectsOf } from '../helpers.js';

const LOOK_MS = 250;
const SIZE = 100;

/** A hierarchy that uses a tier, as one of several. */
async function member(
  tier: StorageDriver,
  objects: Map<string, Uint8Array>,
  quota: number,
  clock: ManualClock,
) {
  const source = new MetricsDriver(await memoryWith(objects));
  const placement = new PlacementHandler({ chunk: SIZE });
  const hierarchy = new Hierarchy({ source, tiers: [{ driver: tier, quota }], placement, clock });
  const faults: string[] = [];
  hierarchy.on('tierFault', ({ operation }) => faults.push(operation));
  // A member that finds the index busy sleeps, and only this clock wakes it.
  await clock.run(hierarchy.open());
  await clock.run(hierarchy.idle());
  const read = async (key: string) => {
    expect(await hierarchy.read(key)).toEqual(objects.get(key));
    await clock.run(hierarchy.idle());
  };
  const brought = () => source.metrics().operations.readInto?.bytes ?? 0;
  return { hierarchy, faults, read, brought, placed: () => hierarchy.stats().placement.placed };
}

/** As after a start of the machine: it is not known whether all is there. */
function asAfterAStart({ directory }: IndexedMemoryDriver): void {
  const index = path.join(directory, 'index.db');
  fs.copyFileSync(index, `${index}.copy`);
  fs.renameSync(`${index}.copy`, index);
}

it('[T1] [R2] a listing that failed after a start of the machine is made again, and placing goes on', async () => {
  const objects = objectsOf([SIZE, SIZE]);
  const tier = new IndexedMemoryDriver();
  const clock = new ManualClock();
  const first = await member(tier, objects, 1000, clock);
  await first.read('0');
  await clock.run(first.hierarchy.close());
  asAfterAStart(tier);
  const failsOnce = new FaultDriver(tier, {
    rules: [{ operations: ['list'], nth: 1, fault: { kind: 'fail' } }],
  });
  const { hierarchy, faults, read, placed } = await member(failsOnce, objects, 1000, clock);
  await read('0');
  await read('1');
  expect({ faults, placed: placed() }).toEqual({ faults: ['openIndex'], placed: 0 });
  while (placed() === 0) {
    await clock.advance(LOOK_MS);
    await read('1');
  }
  expect(faults).toEqual(['openIndex']);
  await clock.run(hierarchy.close());
});

/** The first call of this name fails, in the next index that is opened. */
function failOnce(failing: string): void {
  const { begin } = indexThreads;
  onTestFinished(() => void (indexThreads.begin = begin));
  indexThreads.begin = (options, gate) => {
    indexThreads.begin = begin;
    const thread = begin(options, gate);
    if (!(thread instanceof Worker)) throw new TypeError('an index is in a thread');
    const post = thread.postMessage.bind(thread);
    thread.postMessage = (message: { readonly id: number; readonly call: string } | undefined) => {
      if (message?.call === failing) {
        thread.postMessage = post;
        thread.emit('message', { id: message.id, failure: { code: 'SQLITE_IOERR', message: failing } });
      } else post(message);
    };
    return thread;
  };
}

it('[T1] [R2] a tier whose index could not be gone through, and is not known to have all, takes copies later', async () => {
  const objects = objectsOf([SIZE, SIZE]);
  const tier = new IndexedMemoryDriver();
  const clock = new ManualClock();
  const first = await member(tier, objects, 1000, clock);
  await first.read('0');
  await clock.run(first.hierarchy.close());
  asAfterAStart(tier);
  failOnce('page');
  const { hierarchy, faults, read, placed } = await member(tier, objects, 1000, clock);
  await read('1');
  expect({ faults, placed: placed() }).toEqual({ faults: ['openIndex'], placed: 0 });
  for (let looks = 0; placed() === 0 && looks < 40; looks++) {
    await clock.advance(LOOK_MS);
    await read('1');
  }
  expect({ faults, placed: placed() }).toEqual({ faults: ['openIndex'], placed: 1 });
  await clock.run(hierarchy.close());
  expect(clock.sleepingInBackground).toBe(0);
});

it('[T3] [F1] who is idle gives all that is leased to it to who wants room: a shared tier fills to its end', async () => {
  const objects = objectsOf(Array.from({ length: 16 }, () => SIZE));
  const tier = new IndexedMemoryDriver();
  const clock = new ManualClock();
  const quota = objects.size * SIZE;
  const idle = await member(tier, objects, quota, clock);
  await idle.read('0');
  const other = await member(tier, objects, quota, clock);
  for (const key of objects.keys()) await other.read(key);
  expect(other.placed(), 'the idle one has leased more than it has placed').toBeLessThan(objects.size - 1);
  while (other.placed() < objects.size - 1) {
    await clock.advance(LOOK_MS);
    for (const key of objects.keys()) await other.read(key);
  }
  expect(other.hierarchy.stats().tiers[0]?.usedBytes).toBe(quota);
  for (const { hierarchy } of [idle, other]) await clock.run(hierarchy.close());
});
