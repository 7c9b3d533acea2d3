import { HoldingDriver, IndexedMemoryDriver, settled } from '@tiered/core/testing';
import { expect, it, onTestFinished } from 'vitest';
import { indexThreads, type IndexThread } from '../src/index/index-client.js';
import { memoryWith, objectsOf, startHierarchy } from './helpers.js';

const SIZE = 100;
const OBJECTS = 200;
const COPIES = OBJECTS - 1;

/** Counts the transactions of indexes that are opened from now on. */
function transactions(): { count: number } {
  const counted = { count: 0 };
  const { begin } = indexThreads;
  onTestFinished(() => void (indexThreads.begin = begin));
  indexThreads.begin = (options, gate) => {
    const thread = begin(options, gate);
    const post = thread.postMessage.bind(thread);
    const count: IndexThread['postMessage'] = (message) => {
      if (message?.call === 'apply') counted.count += 1;
      post(message);
    };
    return Object.assign(thread, { postMessage: count });
  };
  return counted;
}

it('[Q1] a lowered quota is met in the background, in batches; reads are served meanwhile, and nothing is placed', async () => {
  const objects = objectsOf(Array.from({ length: OBJECTS }, () => SIZE));
  const source = await memoryWith(objects);
  const tier = new IndexedMemoryDriver();
  const bytes = async () => (await tier.usage({})).bytes;
  const options = { chunk: SIZE };
  const first = await startHierarchy(source, [{ driver: tier, quota: COPIES * SIZE }], options);
  for (const key of objects.keys()) if (Number(key) < COPIES) await first.read(key);
  await first.idle();
  await first.close();
  expect(await bytes()).toBe(COPIES * SIZE);

  const made = transactions();
  const driver = new HoldingDriver(tier, { operations: ['delete'] });
  const quota = (COPIES * SIZE) / 2;
  const second = await startHierarchy(source, [{ driver, quota }], options);
  expect(await bytes()).toBe(COPIES * SIZE);
  for (const [key, content] of objects) expect(await second.read(key)).toEqual(content);
  expect(second.stats().placement.placed).toBe(0);

  let isIdle = false;
  const idle = second.idle().then(() => (isIdle = true));
  while (!isIdle) {
    await driver.releaseAll();
    await settled();
  }
  await idle;
  const removed = COPIES - (await bytes()) / SIZE;
  expect(await bytes()).toBe(Math.floor(quota / SIZE) * SIZE);
  expect(made.count).toBeLessThan(removed / 2);
  await second.close();
});
