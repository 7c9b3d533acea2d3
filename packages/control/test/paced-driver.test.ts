import { MemoryDriver } from '@tiered/core';
import { ManualClock, someBytes } from '@tiered/core/testing';
import { expect, it } from 'vitest';
import { PacedDriver } from '../src/pacing/paced-driver.js';
import { Pace } from '../src/pacing/pace.js';

const OBJECT = someBytes(1000, 1);

/** A source whose share is used up. */
async function usedUp() {
  const clock = new ManualClock();
  const source = new MemoryDriver();
  await source.write('object', OBJECT, { size: OBJECT.byteLength });
  const pace = new Pace(clock);
  pace.set({ bytes: 1000, operations: Infinity });
  await clock.advance(100);
  const driver = new PacedDriver(source, pace, clock);
  await driver.read('object', { offset: 0, length: 1000 });
  return { clock, driver };
}

it('[B1] [U3] an abort is the outcome of each read of a batch that waits for the share', async () => {
  const { clock, driver } = await usedUp();
  const requests = [0, 500].map((offset) => ({ key: 'object', offset, target: new Uint8Array(500) }));
  const enough = new Error('enough');
  const stopped = requests.map(() => ({ error: enough }));
  expect(await driver.readMany(requests, { signal: AbortSignal.abort(enough) })).toEqual(stopped);
  const abort = new AbortController();
  const outcomes = driver.readMany(requests, { signal: abort.signal });
  abort.abort(enough);
  expect(await outcomes).toEqual(stopped);
  const read = driver.readMany(requests, {});
  await clock.advance(2000);
  expect(await read).toEqual([{ bytes: 500 }, { bytes: 500 }]);
  expect(requests.flatMap(({ target }) => [...target])).toEqual([...OBJECT]);
});
