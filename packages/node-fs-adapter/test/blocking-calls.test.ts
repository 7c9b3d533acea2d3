import type { Clock } from '@tiered/core';
import { native } from '@tiered/native';
import { expect, it } from 'vitest';
import { place, putFile, textOf, withCode, type Place } from './helpers.js';

/** A clock on which every look finds so much time gone, and which says how often it was looked at. */
class SteppingClock implements Clock {
  turn(): Promise<void> {
    return Promise.resolve();
  }

  looks = 0;
  #now = 0;

  stepMs: number;

  constructor(stepMs: number) {
    this.stepMs = stepMs;
  }

  now(): number {
    this.looks += 1;
    return (this.#now += this.stepMs);
  }

  /** No time comes. */
  sleep(): Promise<void> {
    return new Promise(() => undefined);
  }
}

const COUNT = 320;

async function withObjects(options: Parameters<typeof place>[0]): Promise<Place> {
  const there = await place(options);
  for (let i = 0; i < COUNT; i++) await putFile(there.root, `${i}`, Buffer.from(`${i}`));
  return there;
}

/** How many reads, one after the other, had filled their target before they returned their promise. */
async function blockingCalls({ driver }: Place, beforeRead?: (i: number) => void): Promise<number> {
  let blocking = 0;
  for (let i = 0; i < COUNT; i++) {
    beforeRead?.(i);
    const target = new Uint8Array(10);
    const reading = driver.readInto(`${i}`, target, { offset: 0 });
    blocking += Number(target[0] !== 0);
    expect(Buffer.from(target.subarray(0, await reading)).toString()).toBe(`${i}`);
  }
  return blocking;
}

const files = { maxOpenFiles: COUNT };
/** Without native code, nobody knows why a call took long. */
const timed = { ...files, nativeThreads: 0, blockingCalls: true };

it('reads of a fast tier block, but for one in many that lets the event loop turn', async () => {
  const clock = new SteppingClock(0.01);
  const blocking = await blockingCalls(await withObjects({ ...files, blockingCalls: true, clock }));
  expect(blocking).toBeGreaterThan(COUNT * 0.9);
  expect(blocking).toBeLessThan(COUNT);
});

it('reads of slow storage block once in a while only, to see whether it is fast again', async () => {
  const clock = new SteppingClock(50);
  const blocking = await blockingCalls(await withObjects({ ...timed, clock }));
  expect(blocking).toBeGreaterThan(0);
  expect(blocking).toBeLessThan(COUNT * 0.05);
});

it.skipIf(!native().available)(
  'reads that waited for nothing go on to block, however long they took',
  async () => {
    const clock = new SteppingClock(50);
    const there = await withObjects({ ...files, blockingCalls: true, clock });
    // In memory, and none of them waits for a disk. Each takes 50 ms, as beside programs that compute.
    expect(await blockingCalls(there)).toBeGreaterThan(COUNT * 0.9);
  },
);

it('a slow read among fast ones sends as many to the thread pool as it took too long, within a bound', async () => {
  const withHiccup = async (ms: number) => {
    const clock = new SteppingClock(0.01);
    const there = await withObjects({ ...timed, clock });
    return blockingCalls(there, (i) => {
      clock.stepMs = i === 40 ? ms : 0.01;
    });
  };
  const undisturbed = await withHiccup(0.01);
  const cost = async (ms: number) => undisturbed - (await withHiccup(ms));
  // A tenth of a millisecond is what a call may take. One in 32 goes there anyway.
  expect(Math.abs((await cost(0.25)) - 3)).toBeLessThanOrEqual(1);
  expect(Math.abs((await cost(50)) - 16)).toBeLessThanOrEqual(1);
});

it('slow reads that fail keep the next ones off the event loop too', async () => {
  const clock = new SteppingClock(50);
  // A tier, because each call on a source is timed, to see whether it waits.
  const { driver } = await place({ ...files, writable: true, clock });
  for (let i = 0; i < COUNT; i++)
    await expect(textOf(driver, `${i}`)).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
  // A call in the thread pool is timed too.
  expect((clock.looks - 2 * COUNT) / 2, 'reads that blocked').toBeLessThan(COUNT * 0.05);
});

it('a source never blocks unless told to, nor does any large read', async () => {
  const clock = new SteppingClock(0.01);
  expect(await blockingCalls(await withObjects({ ...files, clock }))).toBe(0);
  const { root, driver } = await place({ blockingCalls: true, clock });
  await putFile(root, 'large', new Uint8Array(1_000_000).fill(7));
  const reading = driver.read('large', { offset: 0, length: 1_000_000 });
  const target = new Uint8Array(1_000_000);
  const into = driver.readInto('large', target, { offset: 0 });
  expect(target[0]).toBe(0);
  expect(new Set(await reading)).toEqual(new Set([7]));
  expect(await into).toBe(1_000_000);
});
